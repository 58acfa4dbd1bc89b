// A folder or file dropped on a field. A browser tells its name and what is in it, but not where it lies: the
// studio looks for it below the folders that it may read. Nothing is uploaded.
const MOST_NAMES = 50;

const namesIn = (folder) => new Promise((done) => {
  const reader = folder.createReader();
  reader.readEntries((entries) => done(entries.slice(0, MOST_NAMES).map((entry) => entry.name)), () => done([]));
});

export const describeDrop = async (event) => {
  const item = [...event.dataTransfer.items].find((one) => one.kind === 'file');
  if (!item) return null;
  const entry = item.webkitGetAsEntry?.(); // asked before the first pause: then the items are gone
  const file = item.getAsFile();
  if (entry?.isDirectory) return {name: entry.name, folder: true, names: await namesIn(entry), size: 0};
  return file && {name: file.name, folder: false, names: [], size: file.size};
};

const holds = (event) => event.dataTransfer?.types.includes('Files');

addEventListener('dragover', (event) => {
  if (holds(event)) event.preventDefault(); // otherwise the browser would open the file
});
addEventListener('drop', (event) => {
  if (holds(event)) event.preventDefault();
});
window.describeDrop = describeDrop;
