import { writeSync } from 'node:fs'
import { fileContent } from '../../../src/contents/files/index.ts'

/** Puts objects into a folder until it is killed, and tells the path of each one that was put. */
async function main([directory, name, size]: string[]): Promise<void> {
  const content = fileContent(directory!)
  const bytes = new Uint8Array(Number(size)).fill(7)
  let next = 0
  const writer = async () => {
    for (;;) {
      const path = `${name}/${next++}`
      await content.put(path, bytes)
      // In one piece, and gone before the process can be.
      writeSync(1, `${path}\n`)
    }
  }
  await Promise.all([writer(), writer(), writer()])
}

await main(process.argv.slice(2))
