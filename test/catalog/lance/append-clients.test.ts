import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import { fileContent } from '../../../src/contents/files/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { contentWith } from '../../support/contents.ts'
import { lanceIt } from '../../support/lance-package.ts'
import { limitEach } from '../../support/time-limit.ts'
import { releases, requirePython } from './clients/python.ts'
import { servedForLance } from './served.ts'

limitEach(120)

const script = fileURLToPath(new URL('clients/append.py', import.meta.url))

/** A moment that is waited for. */
function moment() {
  let come = () => {}
  const promise = new Promise<void>((resolve) => {
    come = resolve
  })
  return { promise, come }
}

lanceIt.for(releases)(
  'an append by Lance %s keeps all rows while a version is published',
  async (release, { skip }) => {
    const python = await requirePython(release, skip)
    const append = (...args: string[]) => promisify(execFile)(python, [script, ...args])
    const folder = await freshFolder()
    const real = fileContent(folder)
    const shared = {
      names: real.shared!.names.bind(real.shared),
      sync: real.shared!.sync.bind(real.shared),
      replace: real.shared!.replace.bind(real.shared),
      link: real.shared!.link.bind(real.shared),
    }
    const store = memoryStore()
    const open = async (content: Content) =>
      closedAfterwards(
        await openCatalog({ store, root: `file://${folder}`, managedVersioning: true, content }),
      )

    const [isRecorded, isTold] = [moment(), moment()]
    const link = async (from: string, to: string) => {
      isRecorded.come()
      await isTold.promise
      return shared.link(from, to)
    }
    const writer = await open(contentWith(real, { shared: { ...shared, link } }))
    const id = ['t']
    let written: Promise<unknown> | undefined
    let path = ''
    let looks = 0
    const reader = await open(
      contentWith(real, {
        shared: {
          ...shared,
          // The client asks for the table first, and then for its latest version. Before that, another program appends.
          names: async (prefix) => {
            if (path !== '' && ++looks === 2) await append(path, '3')
            if (looks > 2) isTold.come()
            return shared.names(prefix)
          },
        },
        // The catalog reads what that program wrote, and meanwhile the next version is recorded.
        async *list(prefix) {
          if (looks === 2 && prefix.endsWith('_versions/')) {
            written = writer.updateTableSchemaMetadata({ id, metadata: { owner: 'team' } })
            await isRecorded.promise
          }
          yield* real.list(prefix)
        },
      }),
    )
    const { location } = await reader.createTable({
      id,
      data: [{ id: 1 }, { id: 2 }],
      properties: { format: 'lance' },
    })
    path = fileURLToPath(location!)
    await append((await servedForLance(reader)).url, 't', '4')
    isTold.come()
    expect(written).toBeDefined()
    await written
    expect((await reader.countTableRows({ id })).count).toBe(4)
  },
)
