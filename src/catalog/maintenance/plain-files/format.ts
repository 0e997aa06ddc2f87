import * as v from 'valibot'
import { invalid } from '../../../base/errors.ts'
import { filledText, newBranch, newTag, stringMap } from '../../../base/model/fields.ts'
import { nameProblem } from '../../../base/model/identifier.ts'
import { indexTypes } from '../../../base/model/index-types.ts'
import { isPointer } from '../../locations/pointers.ts'
import { indexParameters } from '../../rows/indices.ts'

/** The formats of row files. */
export const rowFormats = ['arrow', 'parquet'] as const
export type RowFormat = (typeof rowFormats)[number]

/* The schemas of the JSON files of an export. An import does not trust these files: they may come from anywhere. */

export const catalogFile = 'catalog.json'
export const namespaceFile = 'namespace.json'
export const tableFile = 'table.json'

const name = v.pipe(
  v.string(),
  v.check((text) => nameProblem(text) === undefined, 'is not a valid name'),
)
const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const head = v.object({ latest: v.nullable(whole), last: v.nullable(whole) })

/** An index that a version has. */
const index = v.object({
  name,
  uuid: v.pipe(filledText, v.maxLength(100)),
  column: filledText,
  type: v.picklist(indexTypes),
  created_at: v.number(),
  parameters: indexParameters,
})

/** A row file beside the table's JSON. The pattern allows no path that leads out of the folder. */
const rowsFile = v.pipe(
  v.string(),
  v.regex(
    /^(?:versions\/)?[\w%~-][\w%~. -]*\.(?:arrow|parquet)$/,
    'is not the name of an Arrow or Parquet file',
  ),
)

export const catalogJson = v.object({ tabularium: v.literal('export'), format: v.literal(1) })

export const namespaceJson = v.object({ name, properties: stringMap, created_at: v.number() })

export const tableJson = v.object({
  name,
  properties: stringMap,
  created_at: v.number(),
  /** Set when the content lies elsewhere and was not exported. */
  location: v.optional(v.string()),
  /** Set when a dataset of Lance lies in a folder beside this file. Its branches name it by that URL. */
  dataset: v.optional(v.object({ location: v.pipe(filledText, v.maxLength(4_096)) })),
  main: head,
  branches: v.array(
    v.object({
      name: newBranch,
      head,
      parent_branch: v.string(),
      parent_version: whole,
      created_at: v.number(),
    }),
  ),
  tags: v.array(v.object({ name: newTag, branch: v.string(), version: whole })),
  versions: v.array(
    v.object({
      branch: v.string(),
      version: whole,
      timestamp_millis: v.number(),
      metadata: v.optional(stringMap),
      rows: v.optional(whole),
      /** The row files in order; absent when the rows were not exported. */
      files: v.optional(v.pipe(v.array(rowsFile), v.minLength(1))),
      /** Its indexes; absent when there are none. */
      indices: v.optional(v.array(index)),
      /** The URL of the file that it points at, and its bytes, where another engine keeps the rows. They are not exported. */
      manifest_path: v.optional(
        v.pipe(filledText, v.maxLength(4_096), v.check(isPointer, 'is not the URL of a file')),
      ),
      manifest_size: v.optional(whole),
    }),
  ),
})

export type NamespaceJson = v.InferOutput<typeof namespaceJson>
export type TableJson = v.InferOutput<typeof tableJson>

export function parseJson<T extends v.GenericSchema>(
  schema: T,
  text: string,
  path: string,
): v.InferOutput<T> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw invalid(`${path} is not JSON. Export the catalog again, or correct the file.`, { cause })
  }
  const result = v.safeParse(schema, value, { abortEarly: true })
  if (result.success) return result.output
  const [issue] = result.issues
  const where = issue.path?.map(({ key }) => String(key)).join('.') ?? 'its content'
  throw invalid(`${path}: ${where}: ${issue.message}. Export the catalog again, or correct the file.`)
}
