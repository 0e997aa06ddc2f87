import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { childrenOf } from '../../support/child-processes.ts'

/* Counts rows of Lance while this process may open few files more, each time in a new process of Lance. Says what came of it. */

const [directory, isLimited] = process.argv.slice(2) as [string, string?]
if (isLimited) await count()
else {
  const again = [process.execPath, process.argv[1]!, directory, 'limited']
  spawnSync('sh', ['-c', 'ulimit -n 256 && exec "$@"', 'sh', ...again], { stdio: 'inherit' })
}

async function count(): Promise<void> {
  const catalog = await openCatalog(directory, { format: 'lance', lance: { isolate: true } })
  const id = ['t']
  await catalog.createTable({ id, data: [{ n: 1 }] })
  await catalog.countTableRows({ id })
  for (let free = 0; free < 10; free++) {
    for (const lance of childrenOf(process.pid, 'lance/isolated/child')) process.kill(lance, 'SIGKILL')
    const files = openAll()
    for (const file of files.splice(0, free)) closeSync(file)
    const told = await catalog.countTableRows({ id }).then(
      ({ count }) => `counted ${count}`,
      ({ code }) => code,
    )
    for (const file of files) closeSync(file)
    console.log(`${free}: ${told}`)
  }
  await catalog.insertIntoTable({ id, data: [{ n: 2 }] })
  console.log(`at last: ${(await catalog.countTableRows({ id })).count}`)
  await catalog.close()
}

/** Opens files until the system refuses. */
function openAll(): number[] {
  const files: number[] = []
  try {
    for (;;) files.push(openSync('/dev/null', 'r'))
  } catch {
    return files
  }
}
