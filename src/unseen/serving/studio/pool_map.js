// The map of the pool: one canvas, however many points.
// <div class="map" data-list="ADDRESS" data-pictures="/picture/KEY/"><canvas></canvas><div class="tip"></div></div>
// The list has {classes: [[name, colour]], points: [[x, y, class, unsure, row, item, answer]]}, x and y from 0 to 1.
// The pointer or the arrow keys choose a point; a click or Enter opens it: data-row of the map says which it is.
import {listAt} from './list_loading.js';

const MARGIN = 14;
const RADIUS = 4;
const REACH = 14; // pixels from a point at which the pointer still finds it

const spotsOf = (map) => {
  const {clientWidth: width, clientHeight: height} = map;
  return map.points.map(([x, y]) => [MARGIN + x * (width - 2 * MARGIN), MARGIN + y * (height - 2 * MARGIN)]);
};

const load = async (map) => {
  if (map.loading) return;
  map.loading = true;
  try {
    Object.assign(map, await listAt(map.dataset.list), {drawn: undefined});
    drawMap(map);
  } catch {
    map.classList.add('lost');
  }
};

export const drawMap = (map) => {
  const canvas = map.querySelector('canvas');
  const {clientWidth: width, clientHeight: height} = map;
  if (!map.points) load(map);
  if (!map.points || !width) return;
  const state = `${width} ${height} ${devicePixelRatio} ${map.chosen}`;
  if (map.drawn === state) return;
  map.drawn = state;
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  const pen = canvas.getContext('2d');
  pen.scale(devicePixelRatio, devicePixelRatio);
  pen.lineWidth = 2;
  map.spots = spotsOf(map);
  map.points.forEach(([, , place, unsure], point) => {
    const [x, y] = map.spots[point];
    pen.beginPath();
    pen.arc(x, y, RADIUS, 0, 2 * Math.PI);
    pen.fillStyle = pen.strokeStyle = map.classes[place][1];
    if (unsure) pen.stroke();
    else pen.fill();
  });
  if (map.chosen !== undefined) {
    const [x, y] = map.spots[map.chosen];
    pen.beginPath();
    pen.arc(x, y, RADIUS + 4, 0, 2 * Math.PI);
    pen.strokeStyle = getComputedStyle(map).color;
    pen.stroke();
  }
};

const choose = (map, point) => {
  if (map.chosen === point) return;
  map.chosen = point;
  const tip = map.querySelector('.tip');
  tip.replaceChildren();
  tip.hidden = point === undefined;
  if (point === undefined) {
    delete map.dataset.row;
  } else {
    const [, , , , row, item, answer] = map.points[point];
    map.dataset.row = row;
    if (map.dataset.pictures) {
      const image = document.createElement('img');
      image.alt = '';
      image.src = map.dataset.pictures + row;
      tip.append(image);
    }
    tip.append(Object.assign(document.createElement('span'), {textContent: `${item}: ${answer}`}));
    const [x, y] = map.spots[point];
    tip.style.left = `${Math.min(x + 14, Math.max(0, map.clientWidth - tip.offsetWidth))}px`;
    tip.style.top = y + 14 + tip.offsetHeight < map.clientHeight ? `${y + 14}px` : `${Math.max(0, y - 14 - tip.offsetHeight)}px`;
  }
  drawMap(map);
};

const nearest = (map, x, y, reach, fits = () => true) => {
  let best;
  map.spots?.forEach(([left, top], point) => {
    const distance = Math.hypot(left - x, top - y);
    if (distance < reach && fits(left - x, top - y)) [best, reach] = [point, distance];
  });
  return best;
};

const DIRECTIONS = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1]};

const onKey = (map, event) => {
  if (!map.points?.length) return;
  if (event.key in DIRECTIONS) {
    const [right, down] = DIRECTIONS[event.key];
    const [x, y] = map.spots[map.chosen ?? 0];
    const ahead = (dx, dy) => dx * right + dy * down > Math.abs(dx * down + dy * right) && Math.hypot(dx, dy) > 0;
    choose(map, map.chosen === undefined ? 0 : nearest(map, x, y, Infinity, ahead) ?? map.chosen);
  } else if (event.key === 'Enter' && map.chosen !== undefined) {
    map.click();
  } else if (event.key === 'Escape') {
    choose(map, undefined);
  } else {
    return;
  }
  event.preventDefault();
};

export const beginMap = (map, redraw) => {
  const find = (event) => {
    const box = map.getBoundingClientRect();
    choose(map, nearest(map, event.clientX - box.left, event.clientY - box.top, REACH));
  };
  map.addEventListener('pointermove', find);
  map.addEventListener('pointerdown', find);
  map.addEventListener('pointerleave', () => choose(map, undefined));
  map.addEventListener('keydown', (event) => onKey(map, event));
  new ResizeObserver(redraw).observe(map);
};
