import { HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3'

type Handler = S3Client['config']['requestHandler']
export type Request = Parameters<Handler['handle']>[0]
type Signer = Awaited<ReturnType<S3Client['config']['signer']>>

/** The common part of all requests for objects of a bucket, and their signer. */
export interface RequestTemplate {
  readonly request: Request
  /** The path before the key. */
  readonly base: string
  readonly headers: Record<string, string>
  readonly signer: Signer
  readonly scope: { readonly signingRegion: string; readonly signingService: string }
}

const keptHeaders = ['host', 'user-agent', 'x-amz-user-agent']

/** The template that a client's request for an object gives; undefined where requests are not of the plain kind. */
export async function templateOf(
  client: S3Client,
  request: Request,
  key: string,
  authSchemes: unknown,
): Promise<RequestTemplate | undefined> {
  const end = encodedKey(key)
  const [scheme] = (authSchemes ?? []) as Parameters<S3Client['config']['signer']>
  const { name, signingRegion, signingName } = scheme ?? {}
  // Other kinds of buckets sign for sessions, or for several regions.
  if (name !== 'sigv4' || !signingRegion || !signingName || !request.path.endsWith(`/${end}`))
    return undefined
  const headers: Record<string, string> = {}
  for (const name of keptHeaders) {
    const value = request.headers[name]
    if (value !== undefined) headers[name] = value
  }
  const signer = await client.config.signer(scheme)
  const base = request.path.slice(0, -end.length)
  return { request, base, headers, signer, scope: { signingRegion, signingService: signingName } }
}

/** The template of a bucket's requests. Nothing is sent. */
export async function bucketTemplate(client: S3Client, Bucket: string): Promise<RequestTemplate | undefined> {
  const Key = 'k'
  let template: RequestTemplate | undefined
  const command = new HeadObjectCommand({ Bucket, Key })
  command.middlewareStack.add(
    (_, context) => async (args) => {
      const schemes = context.endpointV2?.properties?.['authSchemes']
      template = await templateOf(client, args.request as Request, Key, schemes)
      return { output: { $metadata: {} }, response: undefined }
    },
    { step: 'build', priority: 'low', name: 'tabulariumTemplate' },
  )
  await client.send(command)
  return template
}

/** A key in a URL's path: everything but letters, digits, slashes and `-_.~` is encoded. */
export function encodedKey(key: string): string {
  return encodeURIComponent(key)
    .replaceAll('%2F', '/')
    .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}
