import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

/*
 * Folder names for namespaces and tables. They are for people only, since the JSON inside a folder has the true
 * name. So the names need not be reversible, only safe on every file system.
 */

const maxBytes = 80

/** Names that Windows reserves for devices. */
const devices = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i

/** Letters and digits of any script, and a few characters that are special on no file system. */
const plain = /^[\p{L}\p{N}_ -]$/u

/** The folder name for a name: without separators, leading or trailing dots, or other special characters. */
export function folderName(name: string): string {
  let text = ''
  for (const character of name.normalize('NFC')) {
    const isInnerDot = character === '.' && text !== ''
    const next = plain.test(character) || isInnerDot ? character : escaped(character)
    if (Buffer.byteLength(text + next) > maxBytes) break
    text += next
  }
  text = text.replace(/[. ]$/, escaped).replace(/^ /, escaped)
  return devices.test(text) || ownFiles.test(text) ? `_${text}` : text
}

/** Names of an export's own files. */
const ownFiles = /^(?:catalog\.json|namespace\.json|table\.json|rows.*\.(?:arrow|parquet)|versions)$/i

function escaped(character: string): string {
  return Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

/** Makes a folder for a name, and returns its path. Numbers the folder when another name already took the path. */
export async function makeFolder(parent: string, name: string): Promise<string> {
  const wanted = folderName(name)
  for (let attempt = 1; ; attempt++) {
    // Only the file system knows which names it treats as equal, such as upper and lower case.
    const path = join(parent, attempt === 1 ? wanted : `${wanted}~${attempt}`)
    try {
      await mkdir(path)
      return path
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}
