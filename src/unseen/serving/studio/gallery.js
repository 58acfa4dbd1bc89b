// Galleries of thousands of pictures: only those near the window are in the page.
// <div class="gallery" data-list="ADDRESS" data-count="5000" data-pictures="/picture/KEY/"></div>
// The list has [row, kinds, item, answer] of each picture; without data-pictures the items are texts.
// A gallery is one stop of the Tab key; arrows, Home and End move within it, Enter opens a picture.
import {forgetOthers, listAt} from './list_loading.js';
import {beginMap, drawMap} from './pool_map.js';

document.documentElement.lang = 'en';
const MARGIN = 600; // pixels above and below the window that are drawn, too
const RETRIES = 5;
const galleries = new Set();
const maps = new Set();

const layout = (gallery) => {
  const style = getComputedStyle(gallery);
  const least = parseFloat(style.getPropertyValue('--tile-width'));
  const height = parseFloat(style.getPropertyValue('--tile-height'));
  const columns = Math.max(1, Math.floor(gallery.clientWidth / least));
  const width = Math.floor(Math.min(gallery.clientWidth / columns, 1.35 * least));
  return {width, height, columns, lines: Math.ceil(gallery.count / columns)};
};

const fillPicture = (image, address, tries = 0) => {
  image.onerror = () => {
    if (tries < RETRIES) {
      setTimeout(() => image.isConnected && fillPicture(image, address, tries + 1), 400 * 2 ** tries);
    } else {
      image.closest('.tile')?.classList.add('lost');
    }
  };
  image.src = tries ? `${address}?again=${tries}` : address;
};

const tileOf = (gallery, place) => {
  const [row, kinds, item, answer] = gallery.pictures[place];
  const tile = document.createElement('button');
  tile.type = 'button';
  tile.className = `tile ${kinds}`;
  tile.dataset.row = row;
  tile.dataset.place = place;
  tile.title = `${item}: ${answer}`;
  tile.setAttribute('aria-label', tile.title);
  tile.tabIndex = place === gallery.current ? 0 : -1;
  if (gallery.dataset.pictures) {
    const image = document.createElement('img');
    image.alt = '';
    image.decoding = 'async';
    tile.append(image);
    fillPicture(image, gallery.dataset.pictures + row);
  } else {
    const text = document.createElement('span');
    text.className = 'words';
    text.textContent = item;
    tile.append(text);
  }
  if (gallery.classList.contains('captioned')) {
    const caption = document.createElement('span');
    caption.className = 'caption';
    caption.textContent = answer.replace(/ sure$|, your label$/, '');
    tile.append(' ', caption); // a space, or a reader hears two words as one
  }
  return tile;
};

const isNear = (box) => box.bottom >= -MARGIN && box.top <= innerHeight + MARGIN;

const load = async (gallery) => {
  if (gallery.loading) return;
  gallery.loading = true;
  try {
    const address = gallery.dataset.list;
    const pictures = await listAt(address);
    if (address !== gallery.dataset.list) return;
    gallery.pictures = pictures;
    gallery.count = pictures.length;
    const waits = document.activeElement === gallery;
    gallery.removeAttribute('tabindex');
    draw(gallery);
    if (waits) focusOn(gallery, 0);
  } catch {
    gallery.classList.add('lost');
  } finally {
    gallery.loading = false;
  }
};

const draw = (gallery) => {
  const {width, height, columns, lines} = layout(gallery);
  gallery.style.height = `${lines * height}px`;
  const box = gallery.getBoundingClientRect();
  const near = isNear(box);
  if (!gallery.pictures) {
    if (near) load(gallery);
    return;
  }
  const wanted = new Set(gallery.count ? [gallery.current] : []);
  if (near) {
    const first = Math.max(0, Math.floor((-MARGIN - box.top) / height));
    const last = Math.min(lines - 1, Math.floor((innerHeight + MARGIN - box.top) / height));
    const end = Math.min((last + 1) * columns, gallery.count);
    for (let place = first * columns; place < end; place++) wanted.add(place);
  }
  for (const [place, tile] of gallery.tiles) {
    if (!wanted.has(place)) {
      tile.remove();
      gallery.tiles.delete(place);
    }
  }
  let next = null; // tiles stand in the page in the order of their places
  for (const place of [...wanted].sort((a, b) => b - a)) {
    let tile = gallery.tiles.get(place);
    if (!tile) {
      tile = tileOf(gallery, place);
      gallery.tiles.set(place, tile);
      gallery.insertBefore(tile, next);
    }
    tile.style.left = `${(place % columns) * width}px`;
    tile.style.top = `${Math.floor(place / columns) * height}px`;
    tile.style.width = `${width - 6}px`;
    next = tile;
  }
};

let waiting = false;
const drawAll = () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    for (const gallery of galleries) {
      if (gallery.isConnected) draw(gallery);
      else galleries.delete(gallery);
    }
    for (const map of maps) {
      if (!map.isConnected) maps.delete(map);
      else if (isNear(map.getBoundingClientRect())) drawMap(map);
    }
  });
};

const focusOn = (gallery, place) => {
  gallery.tiles.get(gallery.current)?.setAttribute('tabindex', '-1');
  gallery.current = Math.max(0, Math.min(gallery.count - 1, place));
  draw(gallery);
  const tile = gallery.tiles.get(gallery.current);
  tile.tabIndex = 0;
  tile.focus();
};

const begin = (gallery) => {
  gallery.count = Number(gallery.dataset.count);
  gallery.tiles = new Map();
  gallery.current = 0;
  gallery.tabIndex = 0; // until its tiles are there
  gallery.addEventListener('keydown', (event) => {
    const {columns} = layout(gallery);
    const steps = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns};
    const place = Number(event.target.closest('.tile')?.dataset.place);
    if (Number.isNaN(place)) return;
    if (event.key in steps) focusOn(gallery, place + steps[event.key]);
    else if (event.key === 'Home') focusOn(gallery, 0);
    else if (event.key === 'End') focusOn(gallery, gallery.count - 1);
    else return;
    event.preventDefault();
  });
  galleries.add(gallery);
  new ResizeObserver(drawAll).observe(gallery.parentElement);
};

const look = () => {
  const addresses = new Set();
  for (const shown of document.querySelectorAll('[data-list]')) {
    addresses.add(shown.dataset.list);
    if (shown.shown === shown.dataset.list) continue;
    shown.shown = shown.dataset.list;
    if (shown.classList.contains('map')) {
      maps.add(shown);
      beginMap(shown, drawAll);
    } else {
      shown.replaceChildren();
      begin(shown);
    }
  }
  forgetOthers(addresses);
  drawAll();
};

addEventListener('scroll', drawAll, {passive: true, capture: true});
addEventListener('resize', drawAll);
new MutationObserver((changes) => {
  if (changes.some((change) => !change.target.closest?.('.gallery, .map'))) look();
}).observe(document.body, {childList: true, subtree: true, attributes: true, attributeFilter: ['data-list']});
look();
