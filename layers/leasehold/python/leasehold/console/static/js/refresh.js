// Updates by themselves, which can be paused; none while nobody looks.

const EVERY_SECONDS = 5;
const SLOWEST_SECONDS = 60;

export class Refresher {
  constructor({ button, updated, update, every }) {
    Object.assign(this, { button, updated, update, every, isPaused: false, failures: 0, timer: null });
    button.onclick = () => this.pause(!this.isPaused);
    document.addEventListener("visibilitychange", () => (document.hidden ? this.stop() : this.start(0)));
  }

  pause(isPaused) {
    this.isPaused = isPaused;
    this.button.setAttribute("aria-pressed", String(isPaused));
    this.button.textContent = isPaused ? "Resume updates" : "Pause updates";
    if (isPaused) this.stop();
    else this.start(0);
  }

  // After an update: when the next one is due. One that failed is tried again later and later.
  seen(isGood) {
    this.failures = isGood ? 0 : this.failures + 1;
    if (isGood) this.updated.textContent = `Updated ${new Date().toLocaleTimeString()}`;
    this.start();
  }

  start(seconds = Math.min(SLOWEST_SECONDS, (this.every() ?? EVERY_SECONDS) * 2 ** this.failures)) {
    this.stop();
    if (this.isPaused || document.hidden) return;
    this.timer = setTimeout(() => this.update(), seconds * 1000);
  }

  stop() {
    clearTimeout(this.timer);
  }
}
