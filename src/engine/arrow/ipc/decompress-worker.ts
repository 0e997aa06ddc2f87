import { parentPort } from 'node:worker_threads'
import { type DecompressReply, type DecompressRequest, loadCodecs } from './codecs.ts'

/*
 * A worker thread that decompresses large buffers, one after the other, so that the main thread stays free.
 */

const port = parentPort!
const post = (reply: DecompressReply, transfer: ArrayBuffer[] = []) => port.postMessage(reply, transfer)
const codecs = loadCodecs()

port.on('message', async ({ id, codec, packed, length }: DecompressRequest) => {
  try {
    const bytes = (await codecs)[codec](new Uint8Array(packed), length)
    post({ id, bytes }, [bytes.buffer as ArrayBuffer])
  } catch (error) {
    post({ id, failure: error instanceof Error ? error.message : String(error) })
  }
})
post('ready')
