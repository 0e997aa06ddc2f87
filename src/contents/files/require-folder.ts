import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { invalid } from '../../base/errors.ts'
import { systemCode } from './file-errors.ts'

/** The path of the folder at a URL. Refuses it where a file is in the way. It may be missing: the first object creates it. */
export async function requireFolder(url: string): Promise<string> {
  const folder = pathOf(url)
  let path = folder
  let found = await stat(path).catch(systemCode)
  while ((found === 'ENOENT' || found === 'ENOTDIR') && dirname(path) !== path) {
    path = dirname(path)
    found = await stat(path).catch(systemCode)
  }
  if (typeof found === 'object' && !found.isDirectory())
    throw invalid(`Rows cannot lie at ${url}: ${path} is a file. Give the URL of a folder.`)
  // What cannot be looked at is refused when it is used.
  return folder
}

function pathOf(url: string): string {
  let path: string | undefined
  try {
    path = fileURLToPath(url)
  } catch {
    // Such as one with the name of a machine.
  }
  if (path !== undefined && !path.includes('\0')) return path
  throw invalid(`${url} is not the URL of a folder. Write, for example, file:///data/tables.`)
}
