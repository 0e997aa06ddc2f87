import { randomUUID } from 'node:crypto'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { azuriteService } from '../../support/object-services.ts'

/** The account that Azurite has for everybody. */
const account = 'devstoreaccount1'
const key = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='

/** Where tests put blobs: a server, and a container there. */
export interface Place {
  readonly endpoint: string
  /** The URL of a content of its own, which nobody has used yet. Another server may stand before this one. */
  freshUrl(server?: string): string
  /** Stores a blob as another program does, by its whole name. */
  plant(name: string, body: string): Promise<unknown>
}

let place: Promise<Place | string> | undefined

/** The place of this process. A text says why there is none. */
export function azurePlace(): Promise<Place | string> {
  place ??= open()
  return place
}

async function open(): Promise<Place | string> {
  const service = await azuriteService()
  if (typeof service === 'string') return service
  // Nothing of the developer's own accounts reaches the tests.
  for (const name of Object.keys(process.env)) if (name.startsWith('AZURE_')) delete process.env[name]
  process.env.AZURE_STORAGE_KEY = key
  const client = new BlobServiceClient(
    `${service.url}/${account}`,
    new StorageSharedKeyCredential(account, key),
  )
  const { containerClient } = await client.createContainer('rows')
  return {
    endpoint: service.url,
    freshUrl: (server = service.url) =>
      `az://rows/${randomUUID()}?account=${account}&endpoint=${encodeURIComponent(`${server}/${account}`)}`,
    plant: (name, body) => containerClient.uploadBlockBlob(name, body, Buffer.byteLength(body)),
  }
}
