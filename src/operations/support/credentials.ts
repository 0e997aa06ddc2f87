import type { Identifier } from '../../model/identifier.ts'
import type { Core } from './core.ts'

/** The `storage_options` of a response, when credentials were asked for and the catalog has any to give. */
export async function vendedOptions(
  core: Core,
  location: string,
  request: {
    readonly id: Identifier
    readonly vend_credentials?: boolean | undefined
    readonly identity?:
      | { readonly api_key?: string | undefined; readonly auth_token?: string | undefined }
      | undefined
    readonly context?: Readonly<Record<string, string>> | undefined
  },
): Promise<{ storage_options?: Readonly<Record<string, string>> }> {
  if (!request.vend_credentials || core.settings.storageOptions === undefined) return {}
  const { id, identity, context } = request
  const options = await core.settings.storageOptions(location, { id, identity, context })
  return options === undefined ? {} : { storage_options: options }
}
