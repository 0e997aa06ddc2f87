import {
  AnonymousCredential,
  BlobServiceClient,
  type ContainerClient,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import type { Content } from '../../base/content/content.ts'
import { invalid, unsupported } from '../../base/errors.ts'
import { bucketContent } from '../bucket/index.ts'
import { type BucketUrl, checkedEndpoint, parseBucketUrl } from '../bucket/url.ts'
import { AzureContainer } from './container.ts'

const parameterNames = ['account', 'endpoint']

/** Reads `az://container/prefix`, with the parameters that this content takes. */
export function parseAzureUrl(url: string): BucketUrl {
  return parseBucketUrl(url, parameterNames)
}

/**
 * Content in a container of Azure Blob Storage, by a client of your own. `prefix` is the begin of all names: it is empty
 * or ends in a slash.
 *
 * ```ts
 * const service = BlobServiceClient.fromConnectionString(connection)
 * const content = azureContent(service.getContainerClient('container'), 'prefix/')
 * ```
 */
export function azureContent(container: ContainerClient, prefix = ''): Content {
  return bucketContent(new AzureContainer(container), { prefix })
}

/** Content at a URL. Credentials and account come from the environment, as for the Azure command line. */
export async function openAzure(url: string): Promise<Content> {
  const { bucket, prefix, parameters } = parseAzureUrl(url)
  const service = await serviceOf(parameters)
  return bucketContent(new AzureContainer(service.getContainerClient(bucket)), { prefix, url })
}

/** Bounds the wait for a service that does not answer, and for one that failed once. */
const pipeline = {
  retryOptions: { maxTries: 4, retryDelayInMs: 200, maxRetryDelayInMs: 5_000, tryTimeoutInMs: 60_000 },
}

async function serviceOf(parameters: ReadonlyMap<string, string>): Promise<BlobServiceClient> {
  const { env } = process
  const connection = env.AZURE_STORAGE_CONNECTION_STRING
  const account = parameters.get('account') ?? env.AZURE_STORAGE_ACCOUNT
  if (connection && !parameters.has('account') && !parameters.has('endpoint')) {
    return fromConnection(connection)
  }
  if (!account) {
    throw invalid(
      'No account of Azure Storage is given. Set AZURE_STORAGE_ACCOUNT, or write ?account=… behind the URL.',
    )
  }
  const given = parameters.get('endpoint')
  const endpoint = given === undefined ? `https://${account}.blob.core.windows.net` : checkedEndpoint(given)
  const key = env.AZURE_STORAGE_KEY
  if (key) return new BlobServiceClient(endpoint, new StorageSharedKeyCredential(account, key), pipeline)
  const token = env.AZURE_STORAGE_SAS_TOKEN
  if (token) {
    return new BlobServiceClient(
      `${endpoint}?${token.replace(/^\?/, '')}`,
      new AnonymousCredential(),
      pipeline,
    )
  }
  return new BlobServiceClient(endpoint, await identity(), pipeline)
}

function fromConnection(connection: string): BlobServiceClient {
  try {
    return BlobServiceClient.fromConnectionString(connection, pipeline)
  } catch {
    // The SDK's errors may contain the string, which has a key.
    throw invalid(
      'AZURE_STORAGE_CONNECTION_STRING is not a connection string of Azure Storage. Copy it anew.',
    )
  }
}

/** The chain of credentials of Azure's own SDK: the environment, managed identities, the command line. */
async function identity() {
  try {
    const { DefaultAzureCredential } = await import('@azure/identity')
    return new DefaultAzureCredential()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw unsupported(
      'Without a key or token in the environment, content at az:// needs the package @azure/identity, which is not installed.',
      'Run npm install @azure/identity, or set AZURE_STORAGE_KEY.',
      { cause },
    )
  }
}
