/** Only Node warns of many listeners. */
export function setMaxListeners(): void {}
