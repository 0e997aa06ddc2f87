import type { Identity } from '../../base/model/fields.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import type { LocationContext } from './context.ts'

/** The options by which Lance itself reaches a location, as a client of the catalog would; undefined for a local folder. */
export async function ownCredentials(
  core: LocationContext,
  location: string,
  id: Identifier,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (location.startsWith('file:')) return undefined
  return (await vendedCredentials(core, location, { id, vend_credentials: true })).storage_options
}

/** The `storage_options` of a response; empty unless the request asks for credentials and the catalog has some. */
export async function vendedCredentials(
  { settings }: LocationContext,
  location: string,
  request: {
    readonly id: Identifier
    readonly vend_credentials?: boolean | null | undefined
    readonly identity?: Identity | null | undefined
    readonly context?: Readonly<Record<string, string>> | null | undefined
  },
): Promise<{ storage_options?: Readonly<Record<string, string>> }> {
  if (!request.vend_credentials || settings.storageOptions === undefined) return {}
  const options = await settings.storageOptions(location, {
    id: request.id,
    identity: request.identity ?? undefined,
    context: request.context ?? undefined,
  })
  return options === undefined ? {} : { storage_options: options }
}
