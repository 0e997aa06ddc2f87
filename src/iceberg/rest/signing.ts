import * as v from 'valibot'
import { type TableSigner, tableSigner } from '../../catalog/formats/index.ts'
import { IcebergError } from '../errors.ts'
import { inTermsOfIceberg } from '../records/lookup.ts'
import { checkBody } from './body.ts'
import { wants } from './credentials.ts'
import type { Asked, Endpoint, Served } from './endpoint.ts'
import { namespaceToPath, nameToPath } from './names.ts'

const toSign = v.object({
  region: v.nullish(v.string()),
  uri: v.pipe(v.string(), v.maxLength(16_384)),
  method: v.picklist(['PUT', 'GET', 'HEAD', 'POST', 'DELETE', 'PATCH', 'OPTIONS']),
  headers: v.record(v.string(), v.union([v.string(), v.array(v.string())])),
  body: v.nullish(v.string()),
  provider: v.nullish(v.string()),
})

/** Signs requests to object storage for clients without credentials. */
export const signingEndpoint: Endpoint = {
  name: 'signRequest',
  method: 'POST',
  path: 'namespaces/{namespace}/tables/{name}/sign',
  access: 'describeTable',
  body: 'json',
  run: async (served, asked) => {
    const { request, id } = asked
    const { uri, method, headers, body, provider } = checkBody(toSign, request.body)
    if (method !== 'GET' && method !== 'HEAD') await request.authorize('createTableVersion', id)
    const sign = await signerOf(served, asked)
    if (sign === undefined || (provider ?? 's3') !== 's3')
      throw new IcebergError(
        'UnsupportedOperationException',
        `Requests for this table are not signed: only those for S3 are. Ask for vended-credentials, or bring your own.`,
      )
    const joined = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(',')])
    const signed = await sign({
      method,
      url: uri,
      headers: Object.fromEntries(joined),
      body: body ?? undefined,
    })
    const lists = Object.entries(signed.headers).map(([name, value]) => [name, [value]])
    return {
      body: { uri: signed.url, headers: Object.fromEntries(lists) },
      // A signature for what changes nothing may be used again, while it is valid.
      headers: { 'cache-control': method === 'GET' || method === 'HEAD' ? 'private' : 'no-cache' },
    }
  },
}

/** The configuration of a client that asks for remote signing; empty where there is none. */
export async function signingConfig(
  served: Served,
  asked: Pick<Asked, 'id' | 'request'>,
): Promise<Readonly<Record<string, string>>> {
  const { request, id } = asked
  if (!wants('remote-signing', request.headers) || (await signerOf(served, asked)) === undefined) return {}
  const endpoint = `v1/namespaces/${namespaceToPath(id.slice(0, -1))}/tables/${nameToPath(id.at(-1)!)}/sign`
  return {
    's3.remote-signing-enabled': 'true',
    'signer.endpoint': endpoint,
    // Earlier releases of clients, and PyIceberg.
    's3.signer.endpoint': endpoint,
    's3.signer': 'S3V4RestSigner',
  }
}

function signerOf(
  { catalog }: Served,
  { id, request }: Pick<Asked, 'id' | 'request'>,
): Promise<TableSigner | undefined> {
  const { context, options } = request
  return inTermsOfIceberg({ kind: 'table', id }, () =>
    tableSigner(catalog, { id: [...id], context }, options),
  )
}
