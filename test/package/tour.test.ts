import { execFile, spawnSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { install, packedProject } from '../support/packed.ts'
import { limitEach } from '../support/time-limit.ts'

// It builds the package.
limitEach(120)

/* What `npm start` does in a terminal: after the walk it shows the page, until Ctrl+C. */

/** Runs a program in a terminal, fetches the page that it tells, presses Ctrl+C, and prints all of that. */
const terminal = `
import os, pty, re, sys, urllib.request
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
printed, asked = '', False
while True:
    try: printed += os.read(terminal, 4096).decode()
    except OSError: break
    url = re.search(r'(http://[0-9.:]+/)#token=\\S+\\s', printed)
    if url and not asked:
        asked = True
        printed += 'STATUS %d\\n' % urllib.request.urlopen(url[1]).status
        os.write(terminal, b'\\x03')
print(printed, 'EXIT', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`

const missingPython = spawnSync('python3', ['--version']).status !== 0

test.skipIf(missingPython)('the walk ends with the page, and Ctrl+C ends both', async () => {
  const project = await packedProject()
  install(project, 'vega-datasets')
  onTestFinished(() => rm(project, { recursive: true, force: true }))
  const tour = [join(project, 'source/dist/tabularium/tour.js'), join(project, 'catalog')]
  const { stdout } = await promisify(execFile)('python3', ['-c', terminal, process.execPath, ...tour])
  expect(stdout).toContain('Look at it in the browser')
  expect(stdout).toContain('STATUS 200')
  expect(stdout.trim()).toMatch(/EXIT 0$/)
})
