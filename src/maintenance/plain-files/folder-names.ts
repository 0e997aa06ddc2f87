import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

/*
 * Names of namespaces and tables as names of folders. They are for people: what is written inside tells the
 * true name. So they need not be turned back, only be safe on every file system.
 */

const longest = 80

/** Names that are devices somewhere. */
const devices = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i

/** Letters and digits of any script, and a few signs that mean nothing to any file system. */
const plain = /^[\p{L}\p{N}_ -]$/u

/** A folder's name for a name: no separators, no dot in front or at the end, nothing that is special anywhere. */
export function folderName(name: string): string {
  let text = ''
  for (const sign of name.normalize('NFC')) {
    const inside = sign === '.' && text !== ''
    const next = plain.test(sign) || inside ? sign : escaped(sign)
    if (Buffer.byteLength(text + next) > longest) break
    text += next
  }
  text = text.replace(/[. ]$/, escaped).replace(/^ /, escaped)
  return devices.test(text) || isOurs.test(text) ? `_${text}` : text
}

/** Names of an export's own files. */
const isOurs = /^(?:catalog\.json|namespace\.json|table\.json|rows.*\.arrow|versions)$/i

function escaped(sign: string): string {
  return Array.from(Buffer.from(sign), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

/** Makes a folder for a name, and another one where two names come to the same; answers with its path. */
export async function makeFolder(parent: string, name: string): Promise<string> {
  const wanted = folderName(name)
  for (let attempt = 1; ; attempt++) {
    // The file system says what is the same to it: upper and lower case, for instance.
    const path = join(parent, attempt === 1 ? wanted : `${wanted}~${attempt}`)
    try {
      await mkdir(path)
      return path
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}
