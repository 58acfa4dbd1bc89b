// Shows the pictures of a container "rounds" one at a time, with a button and a slider.
// It plays once by itself, unless the reader prefers reduced motion. Without scripts all pictures are shown.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".rounds")) {
    const frames = [...box.querySelectorAll("img")];
    if (frames.length < 2) continue;
    const controls = document.createElement("div");
    const button = document.createElement("button");
    const slider = document.createElement("input");
    controls.className = "controls";
    button.type = "button";
    button.className = "btn btn-sm";
    slider.type = "range";
    slider.min = 0;
    slider.max = frames.length - 1;
    slider.setAttribute("aria-label", "Round");
    controls.append(button, slider);
    box.append(controls);
    box.classList.add("player");
    let timer = null;
    const show = (number) => {
      slider.value = number;
      slider.setAttribute("aria-valuetext", number === 0 ? "start" : `round ${number}`);
      frames.forEach((frame, i) => frame.classList.toggle("shown", i === number));
    };
    const stop = () => {
      clearInterval(timer);
      timer = null;
      button.textContent = "Play";
    };
    const play = () => {
      if (Number(slider.value) === frames.length - 1) show(0);
      button.textContent = "Pause";
      timer = setInterval(() => {
        show(Number(slider.value) + 1);
        if (Number(slider.value) === frames.length - 1) stop();
      }, 900);
    };
    button.addEventListener("click", () => (timer ? stop() : play()));
    slider.addEventListener("input", () => {
      stop();
      show(Number(slider.value));
    });
    show(0);
    stop();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play();
  }
});
