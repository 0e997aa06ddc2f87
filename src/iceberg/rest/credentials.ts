import type { IncomingHttpHeaders } from 'node:http'
import type { Identifier } from '../../base/model/identifier.ts'
import type { Caller } from '../records/metadata-files.ts'
import type { Served } from './endpoint.ts'

/** Credentials for all objects below a prefix. */
export interface StorageCredential {
  readonly prefix: string
  readonly config: Readonly<Record<string, string>>
}

/** Whether a client asks for a way to reach the files of a table. */
export function wants(way: 'vended-credentials' | 'remote-signing', headers: IncomingHttpHeaders): boolean {
  const asked = headers['x-iceberg-access-delegation']
  return typeof asked === 'string' && asked.split(',').some((one) => one.trim() === way)
}

/** The names of Iceberg for options that the hook `storageOptions` may give by the names of object stores. */
const names: Readonly<Record<string, string>> = {
  aws_access_key_id: 's3.access-key-id',
  access_key_id: 's3.access-key-id',
  aws_secret_access_key: 's3.secret-access-key',
  secret_access_key: 's3.secret-access-key',
  aws_session_token: 's3.session-token',
  session_token: 's3.session-token',
  aws_region: 'client.region',
  region: 'client.region',
  aws_endpoint: 's3.endpoint',
  endpoint: 's3.endpoint',
  azure_storage_account_name: 'adls.auth.shared-key.account.name',
  azure_storage_account_key: 'adls.auth.shared-key.account.key',
  google_service_account_token: 'gcs.oauth2.token',
}

/** The credentials that the catalog's hook gives for a table; none without the hook. */
export async function credentialsFor(
  { catalog }: Served,
  id: Identifier,
  { options, context }: Caller,
): Promise<StorageCredential[]> {
  const asked = { id: [...id], vend_credentials: true, context }
  const { location, storage_options: given } = await catalog.describeTable(asked, options)
  if (given === undefined || Object.keys(given).length === 0) return []
  const config: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) config[names[name.toLowerCase()] ?? name] = value
  return [{ prefix: location, config }]
}
