import { randomUUID } from 'node:crypto'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { motoService } from '../../support/object-services.ts'

/** Where tests put objects: a server of S3, and a bucket there. */
export interface Place {
  readonly client: S3Client
  readonly bucket: string
  /** The URL of a content of its own, which nobody has used yet. Another endpoint may stand before the server. */
  freshUrl(endpoint?: string): string
  readonly endpoint: string
  /** What clients of Lance need to reach it. */
  readonly lanceOptions: Record<string, string>
}

let place: Promise<Place | string> | undefined

/**
 * The place of this process. A text says why there is none. TABULARIUM_S3 is the URL of a server that runs already. It has
 * the keys of {@link credentials}, and may be filled.
 */
export function s3Place(): Promise<Place | string> {
  place ??= open()
  return place
}

async function open(): Promise<Place | string> {
  const given = process.env.TABULARIUM_S3
  const server = given === undefined ? await motoService() : { url: given }
  if (typeof server === 'string') return server
  useEnvironment()
  const bucket = 'rows'
  const client = new S3Client({ endpoint: server.url, region: 'us-east-1', forcePathStyle: true })
  await client.send(new CreateBucketCommand({ Bucket: bucket })).catch((error) => {
    if (!/^BucketAlready/.test(error.name)) throw error
  })
  return {
    client,
    bucket,
    endpoint: server.url,
    lanceOptions: {
      aws_access_key_id: credentials.AWS_ACCESS_KEY_ID,
      aws_secret_access_key: credentials.AWS_SECRET_ACCESS_KEY,
      aws_endpoint: server.url,
      aws_region: 'us-east-1',
      allow_http: 'true',
    },
    freshUrl: (endpoint = server.url) =>
      `s3://${bucket}/${randomUUID()}?endpoint=${encodeURIComponent(endpoint)}&region=us-east-1`,
  }
}

const credentials = {
  AWS_ACCESS_KEY_ID: 'AKIAEXAMPLEEXAMPLE00',
  AWS_SECRET_ACCESS_KEY: 'a-secret-that-nobody-may-see',
}

/** Nothing of the developer's own accounts reaches the tests. */
function useEnvironment(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name]
  Object.assign(process.env, {
    ...credentials,
    AWS_CONFIG_FILE: '/nonexistent/config',
    AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials',
    AWS_EC2_METADATA_DISABLED: 'true',
    // Node 20 is what the package promises.
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
  })
}
