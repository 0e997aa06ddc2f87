import * as v from 'valibot'
import { CatalogError } from '../../base/errors.ts'
import { stringMap, text, version } from '../../base/model/fields.ts'
import { seal, unseal } from '../../base/model/sealed-json.ts'
import { recordFormat } from '../../base/store/records.ts'

/* A registration is the object that keeps a deregistered table's versions, tags, branches and properties. */

const head = v.object({ latest: v.nullable(version), last: v.nullable(version) })

const versionRecord = v.object({
  v: v.literal(recordFormat),
  manifest_path: text,
  manifest_size: v.optional(v.number()),
  e_tag: v.optional(text),
  timestamp_millis: v.number(),
  metadata: v.optional(stringMap),
  naming_scheme: v.optional(text),
  staging_path: v.optional(text),
  transaction_id: text,
  request_key: v.optional(text),
  rows: v.optional(version),
  bases: v.optional(v.array(text)),
})

const registration = v.object({
  format: v.literal(recordFormat),
  /** Whether clones named files of the table when it was deregistered. */
  shared: v.optional(v.boolean()),
  properties: stringMap,
  main: head,
  versions: v.array(v.tuple([text, version, versionRecord])),
  tags: v.array(v.tuple([text, v.object({ v: v.literal(recordFormat), branch: text, version })])),
  branches: v.array(
    v.tuple([
      text,
      v.object({
        v: v.literal(recordFormat),
        head,
        parent_branch: text,
        parent_version: version,
        created_at: v.number(),
      }),
    ]),
  ),
})

/** All that a catalog knows of a table except its name and location. */
export type Registration = v.InferOutput<typeof registration>

const kind = 'registration'

/** The bytes of a registration, from its JSON text. */
export function sealRegistration(json: string): Uint8Array {
  return seal(kind, recordFormat, json)
}

/** Reads a registration. `fault` says what is wrong with the bytes, as the end of a sentence. */
export function openRegistration(
  bytes: Uint8Array,
): { readonly known: Registration } | { readonly fault: string; readonly cause?: unknown } {
  const found = unseal(kind, recordFormat, bytes)
  if ('fault' in found) return found
  const result = v.safeParse(registration, found.body)
  if (result.success) return { known: result.output }
  return { fault: 'has unexpected fields', cause: new v.ValiError(result.issues) }
}

/** Reads a registration. Throws `InvalidTableState` when it is damaged; `where` names it in the message. */
export function parseRegistration(bytes: Uint8Array, where: string): Registration {
  const found = openRegistration(bytes)
  if ('known' in found) return found.known
  throw new CatalogError(
    'InvalidTableState',
    `The registration ${where} ${found.fault}. Restore it, or remove it to register the location without its history.`,
    { cause: found.cause },
  )
}
