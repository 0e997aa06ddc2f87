/** Does nothing: only Node warns about many listeners. */
export function setMaxListeners(): void {}
