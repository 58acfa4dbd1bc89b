// Galleries of thousands of pictures: only those near the window are in the page.
// <div class="gallery" data-pictures='[[row, "kind", "text"], …]' data-address="/picture/KEY/"></div>
// A gallery is one stop of the Tab key; arrows, Home and End move within it, Enter opens a picture.
(() => {
  document.documentElement.lang = 'en';
  const MARGIN = 600; // pixels above and below the window that are drawn, too
  const RETRIES = 5;
  const galleries = new Set();

  const layout = (gallery) => {
    const style = getComputedStyle(gallery);
    const width = parseFloat(style.getPropertyValue('--tile-width'));
    const height = parseFloat(style.getPropertyValue('--tile-height'));
    const columns = Math.max(1, Math.floor(gallery.clientWidth / width));
    return {width, height, columns, lines: Math.ceil(gallery.pictures.length / columns)};
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
    const [row, kind, text] = gallery.pictures[place];
    const tile = document.createElement('button');
    tile.type = 'button';
    tile.className = `tile ${kind}`;
    tile.dataset.row = row;
    tile.dataset.place = place;
    tile.title = text;
    tile.setAttribute('aria-label', text);
    tile.tabIndex = place === gallery.current ? 0 : -1;
    const image = document.createElement('img');
    image.alt = '';
    image.decoding = 'async';
    tile.append(image);
    fillPicture(image, gallery.dataset.address + row);
    return tile;
  };

  const draw = (gallery) => {
    const {width, height, columns, lines} = layout(gallery);
    gallery.style.height = `${lines * height}px`;
    const box = gallery.getBoundingClientRect();
    const first = Math.max(0, Math.floor((-MARGIN - box.top) / height));
    const last = Math.min(lines - 1, Math.floor((innerHeight + MARGIN - box.top) / height));
    const wanted = new Set([gallery.current]);
    for (let place = first * columns; place < Math.min((last + 1) * columns, gallery.pictures.length); place++) {
      wanted.add(place);
    }
    if (box.bottom < -MARGIN || box.top > innerHeight + MARGIN) {
      for (const place of wanted) if (place !== gallery.current) wanted.delete(place);
    }
    for (const [place, tile] of gallery.tiles) {
      if (!wanted.has(place)) {
        tile.remove();
        gallery.tiles.delete(place);
      }
    }
    for (const place of wanted) {
      if (place >= gallery.pictures.length) continue;
      let tile = gallery.tiles.get(place);
      if (!tile) {
        tile = tileOf(gallery, place);
        gallery.tiles.set(place, tile);
        const next = [...gallery.tiles.keys()].filter((other) => other > place).sort((a, b) => a - b)[0];
        gallery.insertBefore(tile, next === undefined ? null : gallery.tiles.get(next));
      }
      tile.style.left = `${(place % columns) * width}px`;
      tile.style.top = `${Math.floor(place / columns) * height}px`;
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
    });
  };

  const focusOn = (gallery, place) => {
    gallery.tiles.get(gallery.current)?.setAttribute('tabindex', '-1');
    gallery.current = Math.max(0, Math.min(gallery.pictures.length - 1, place));
    draw(gallery);
    const tile = gallery.tiles.get(gallery.current);
    tile.tabIndex = 0;
    tile.focus();
  };

  const begin = (gallery) => {
    gallery.pictures = JSON.parse(gallery.dataset.pictures);
    gallery.tiles = new Map();
    gallery.current = 0;
    gallery.addEventListener('keydown', (event) => {
      const {columns} = layout(gallery);
      const steps = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns};
      const place = Number(event.target.closest('.tile')?.dataset.place);
      if (Number.isNaN(place)) return;
      if (event.key in steps) focusOn(gallery, place + steps[event.key]);
      else if (event.key === 'Home') focusOn(gallery, 0);
      else if (event.key === 'End') focusOn(gallery, gallery.pictures.length - 1);
      else return;
      event.preventDefault();
    });
    galleries.add(gallery);
    new ResizeObserver(drawAll).observe(gallery.parentElement);
  };

  const look = () => {
    for (const gallery of document.querySelectorAll('.gallery')) {
      if (gallery.pictures === undefined || gallery.shown !== gallery.dataset.pictures) {
        gallery.shown = gallery.dataset.pictures;
        gallery.replaceChildren();
        begin(gallery);
      }
    }
    drawAll();
  };

  addEventListener('scroll', drawAll, {passive: true, capture: true});
  addEventListener('resize', drawAll);
  addEventListener('DOMContentLoaded', () => {
    new MutationObserver((changes) => {
      const outside = changes.some((change) => !change.target.closest?.('.gallery'));
      if (outside) look();
    }).observe(document.body, {childList: true, subtree: true, attributes: true, attributeFilter: ['data-pictures']});
    look();
  });
})();
