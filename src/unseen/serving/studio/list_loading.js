// Lists of pictures, fetched when they are needed, and kept while the page shows them.
const RETRIES = 6;
const lists = new Map();

const fetchList = async (address) => {
  for (let tries = 0; ; tries++) {
    try {
      const answer = await fetch(address);
      if (answer.ok) return await answer.json();
      throw new Error(`${answer.status}`);
    } catch (error) {
      if (tries >= RETRIES) throw error;
      await new Promise((done) => setTimeout(done, 200 * 2 ** tries));
    }
  }
};

export const listAt = (address) => {
  if (!lists.has(address)) {
    const list = fetchList(address);
    list.catch(() => lists.delete(address));
    lists.set(address, list);
  }
  return lists.get(address);
};

export const forgetOthers = (addresses) => {
  for (const address of lists.keys()) if (!addresses.has(address)) lists.delete(address);
};
