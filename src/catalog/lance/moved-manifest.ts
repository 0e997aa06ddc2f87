import {
  bufferOf,
  manifestField,
  manifestFields,
  manifestFile,
  manifestStart,
  message,
  numberIn,
} from './manifest-file.ts'
import { baseField } from './named-files.ts'
import { type Field, readFields, writeFields } from './protobuf.ts'

/** The path of a folder below a dataset, ending in a slash, or `''` for that of the dataset; undefined for any other. */
export function withinDataset(location: string, url: string): string | undefined {
  const [whole, part] = [plain(location), plain(url)]
  if (whole === undefined || part === undefined) return undefined
  if (part === whole) return ''
  return part.startsWith(`${whole}/`) ? `${part.slice(whole.length + 1)}/` : undefined
}

/** Lance writes a path of this machine with its scheme or without. */
function plain(url: string): string | undefined {
  try {
    const path = url.startsWith('file:') ? decodeURIComponent(new URL(url).pathname) : url
    return path.replace(/\/+$/, '')
  } catch {
    return undefined
  }
}

/**
 * The bytes of a manifest for a copy of its dataset at another location: what it names in other branches of its dataset
 * lies there, too. The given bytes where it names nothing there. Throws a `RangeError` for another file.
 */
export function movedManifest(manifest: Uint8Array, from: string, to: string): Uint8Array {
  const file = bufferOf(manifest)
  const fields = manifestFields(file)
  const moved = fields.map((field) =>
    field.number === manifestField.bases ? movedBase(field, from, to) : field,
  )
  if (moved.every((field, i) => field === fields[i])) return manifest
  // Sections before it stay where they are.
  return manifestFile([file.subarray(0, manifestStart(file))], writeFields(moved), file)
}

function movedBase(field: Field, from: string, to: string): Field {
  const fields = readFields(message(field))
  const path = fields.findLast(({ number }) => number === baseField.path)
  const within = path && withinDataset(from, Buffer.from(message(path)).toString())
  if (within === undefined || numberIn(fields, baseField.isDataset) !== 1n) return field
  const place = within === '' ? to : `${to}/${within.slice(0, -1)}`
  const moved = fields.map((one) =>
    one === path ? { number: baseField.path, value: Buffer.from(place) } : one,
  )
  return { number: field.number, value: writeFields(moved) }
}
