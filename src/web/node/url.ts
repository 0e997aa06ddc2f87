/* The part of `node:url` for locations, with Unix paths. */

/** The path of a `file:` URL. */
export function fileURLToPath(url: string | URL): string {
  const { protocol, host, pathname } = new URL(url)
  if (protocol !== 'file:' || host !== '' || /%2f/i.test(pathname)) {
    throw new TypeError(`${String(url)} is not the URL of a file on this machine`)
  }
  return decodeURIComponent(pathname)
}

/** The `file:` URL of an absolute path. */
export function pathToFileURL(path: string): URL {
  return new URL(`file://${path.replace(/[%\\?#[\]^|~\0- ]/g, escaped)}`)
}

function escaped(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}
