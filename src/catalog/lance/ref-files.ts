import * as v from 'valibot'
import { CatalogError } from '../../base/errors.ts'
import type { DatasetFolder } from './dataset.ts'

/*
 * Tags and branches of a dataset are small JSON files, one each. They are authoritative: Lance's clients write them
 * without notice to the catalog, and Lance's cleanup keeps what they name.
 */

const tag = v.looseObject({
  branch: v.nullish(v.string()),
  version: v.number(),
  manifestSize: v.optional(v.number(), 0),
})

const branch = v.looseObject({
  parentBranch: v.nullish(v.string()),
  parentVersion: v.number(),
  /** Seconds since the epoch. */
  createAt: v.optional(v.number(), 0),
  manifestSize: v.optional(v.number(), 0),
  /** For each ancestor and the branch itself, the version it began with and its unique id. */
  identifier: v.optional(v.object({ version_mapping: v.array(v.tuple([v.number(), v.string()])) })),
})

const schemas = { tags: tag, branches: branch }

export type TagFile = v.InferOutput<typeof tag>
export type BranchFile = v.InferOutput<typeof branch>
interface Files {
  tags: TagFile
  branches: BranchFile
}

const folderOf = (kind: keyof Files) => `_refs/${kind}/`

/** The path of a tag's or branch's file. Slashes of names are escaped, so that each file lies in the same folder. */
export function refPath({ prefix }: DatasetFolder, kind: keyof Files, name: string): string {
  return `${prefix}${folderOf(kind)}${name.replaceAll('/', '%2F')}.json`
}

export async function readRef<Kind extends keyof Files>(
  folder: DatasetFolder,
  kind: Kind,
  name: string,
): Promise<Files[Kind] | undefined> {
  const path = refPath(folder, kind, name)
  const bytes = await folder.content.get(path)
  if (bytes === undefined) return undefined
  const found = v.safeParse(schemas[kind], parse(bytes))
  if (found.success) return found.output as Files[Kind]
  throw new CatalogError(
    'InvalidTableState',
    `The file ${path} is not as Lance writes it. Restore it, or remove it with what it stands for.`,
    { cause: new v.ValiError(found.issues) },
  )
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

/** All tags or branches of a dataset, in the order of their names. */
export async function readRefs<Kind extends keyof Files>(
  folder: DatasetFolder,
  kind: Kind,
): Promise<Map<string, Files[Kind]>> {
  const names = await folder.shared.names(folder.prefix + folderOf(kind))
  const refs = await Promise.all(
    names.flatMap((file) => {
      if (!file.endsWith('.json')) return []
      const name = file.slice(0, -'.json'.length).replaceAll('%2F', '/')
      return [readRef(folder, kind, name).then((ref) => [name, ref] as const)]
    }),
  )
  const found = refs.filter((entry): entry is readonly [string, Files[Kind]] => entry[1] !== undefined)
  return new Map(found.sort(([a], [b]) => (a < b ? -1 : 1)))
}

export function refBytes(ref: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(ref, undefined, 2))
}
