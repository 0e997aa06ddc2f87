import { writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { readAddress } from '../../../src/stores/postgres/address.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { missingPostgres, PostgresServer } from '../../support/postgres.ts'
import { certificate, refusingServer } from '../../support/postgres-answers.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { limitEach } from '../../support/time-limit.ts'
import { opened, refusal } from './refusal.ts'

// It starts a server of PostgreSQL for each kind of password.
limitEach(60)

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all!.some(({ address }) => address === '::1'),
)

describe.skipIf(missingPostgres)('a login', () => {
  const odd = 'a:b\\c@d/e?f#g%h+i j&k=l"pä\u0308\u00a0\u2168 %41'

  test('is that of a password file at home, by sockets and addresses, for each kind of password', async () => {
    const server = await PostgresServer.start({ listen_addresses: "'127.0.0.1,::1'" })
    onTestFinished(() => server.stop())
    const url = await server.freshUrl()
    for (const kind of ['scram-sha-256', 'md5']) {
      await server.query(
        `SET password_encryption = '${kind}'; CREATE ROLE "${kind}" SUPERUSER LOGIN PASSWORD '${odd}'`,
      )
    }
    const lines = ['local all all md5', 'host all all 127.0.0.1/32 md5', 'host all all ::1/128 md5']
    await writeFile(join(server.folder, 'data', 'pg_hba.conf'), `${lines.join('\n')}\n`)
    await server.pause()
    await server.resume()
    const home = await freshFolder()
    vi.stubEnv('HOME', home)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { searchParams } = new URL(url)
    const used = async (host: string, user: string, more = '') => {
      const store = await openPostgresStore(
        `postgres://${user}@${host}:${server.port}/postgres?${searchParams}${more}`,
      )
      await store.write((tx) => tx.put(['a'], 1))
      await store.close()
    }
    const socket = encodeURIComponent(server.folder)
    for (const user of ['scram-sha-256', 'md5']) {
      for (const [host, written] of [
        ['127.0.0.1', '127.0.0.1'],
        ...(hasIpv6 ? ([['[::1]', '\\:\\:1']] as const) : []),
        [socket, 'localhost'],
        [socket, server.folder],
      ] as const) {
        const line = `${written}:${server.port}:*:${user}:${odd.replace(/[\\:]/g, '\\$&')}\r\n`
        await writeFile(join(home, '.pgpass'), `${written}:1:*:*:no\n${line}`, { mode: 0o600 })
        await used(host, user)
      }
      await writeFile(join(home, '.pgpass'), '')
      await used('127.0.0.1', `${user}:${encodeURIComponent(odd)}`)
      // A plus is a plus.
      await used('127.0.0.1', user, `&password=${encodeURIComponent(odd).replaceAll('%2B', '+')}`)
    }
  })

  test('that must be bound to the connection tells no password otherwise', async () => {
    const server = await PostgresServer.start()
    onTestFinished(() => server.stop())
    const proxy = await TcpProxy.start(server.port)
    onTestFinished(() => proxy.close())
    const url = await server.freshUrl(proxy.port)
    await server.query("ALTER ROLE postgres PASSWORD 'hunter2'")
    let sent = ''
    proxy.onSent = (bytes) => {
      sent += bytes.toString('latin1')
      return undefined
    }
    const login = `${url.replace('postgres@', 'postgres:hunter2@')}&channel_binding=`
    for (const way of ['trust', 'password', 'scram-sha-256']) {
      await writeFile(join(server.folder, 'data', 'pg_hba.conf'), `host all all 127.0.0.1/32 ${way}\n`)
      await server.pause()
      await server.resume()
      expect(await opened(`${login}require`)).toMatchObject({
        code: 'PermissionDenied',
        message: expect.stringContaining('channel_binding'),
      })
      expect(sent).not.toContain('hunter2')
      await (await openPostgresStore(`${login}prefer`)).close()
      sent = ''
    }
  })
})

test('parameters of a URL are read as PostgreSQL itself reads them', async () => {
  expect(await readAddress('postgres://h/d?application_name=a+b%20c=d&&', {})).toMatchObject({
    applicationName: 'a+b c=d',
  })
  for (const [url, env, told] of [
    ['postgres://h/d?channel_binding=always', {}, 'require, prefer or disable'],
    ['postgres://h/d', { PGCHANNELBINDING: 'yes' }, 'require, prefer or disable'],
    ['postgres://h/d?schema', {}, 'schema=value'],
    ['postgres://h/d', { PGHOSTADDR: 'db.example' }, 'one address'],
    ['postgres://h/d?hostaddr=10.0.0.1,10.0.0.2', {}, 'one address'],
  ] as const) {
    const error = await refusal(readAddress(url, env))
    expect(error).toMatchObject({ code: 'InvalidInput', message: expect.stringContaining(told) })
  }
})

test('an address beside a host is where the connection goes, and the host whom the certificate names', async () => {
  for (const [url, env, host, target] of [
    ['postgres://', { PGHOSTADDR: '10.0.0.1', PGHOST: 'h' }, 'h', '10.0.0.1'],
    ['postgres://h/d', { PGHOSTADDR: '10.0.0.1' }, 'h', '10.0.0.1'],
    ['postgres://h/d?hostaddr=::1', { PGHOSTADDR: '10.0.0.1' }, 'h', '::1'],
    ['postgres://', { PGHOSTADDR: '10.0.0.1' }, '10.0.0.1', '10.0.0.1'],
    ['postgres://localhost/d', { PGHOSTADDR: '10.0.0.1' }, 'localhost', '10.0.0.1'],
    ['postgres://h/d', { PGHOSTADDR: '127.0.0.1' }, 'h', '127.0.0.1'],
  ] as const) {
    // Encrypted, unless neither leaves the machine.
    const ssl = { rejectUnauthorized: true }
    expect(await readAddress(url, env)).toMatchObject({ host, target, ssl })
  }
  const { port, logins } = await refusingServer('28P01', 'its certificate')
  const root = join(await freshFolder(), 'root.pem')
  await writeFile(root, certificate)
  vi.stubEnv('PGHOSTADDR', '127.0.0.1')
  onTestFinished(() => void vi.unstubAllEnvs())
  const at = (host: string, query = '') =>
    opened(`postgres://u@${host}:${port}/d?sslrootcert=${encodeURIComponent(root)}${query}`)
  expect((await at('db.example')).message).toMatch(/db\.example:\d+ \(127\.0\.0\.1\).*password/)
  expect(logins()).toBe(1)
  for (const other of ['other.example', '127.0.0.2']) {
    const { message } = await at(other, '&sslmode=verify-full')
    expect(message).toContain('ERR_TLS_CERT_ALTNAME_INVALID')
  }
  expect(logins()).toBe(1)
  expect((await at('other.example', '&sslmode=verify-ca')).code).toBe('PermissionDenied')
})

test('what the environment demands of a connection is done, or refused', async () => {
  for (const [name, fits, refused] of [
    [
      'PGTARGETSESSIONATTRS',
      ['any', 'read-write', 'primary', 'prefer-standby'],
      ['standby', 'read-only', 'x'],
    ],
    ['PGREQUIREAUTH', [], ['scram-sha-256']],
    ['PGREQUIREPEER', [], ['postgres']],
    ['PGGSSENCMODE', ['disable', 'prefer'], ['require']],
    ['PGSSLCRL', [], ['/crl.pem']],
    ['PGSSLMINPROTOCOLVERSION', ['TLSv1.2'], ['TLSv1.3']],
    ['PGSSLMAXPROTOCOLVERSION', ['TLSv1.3'], ['TLSv1.2']],
    ['PGSSLNEGOTIATION', ['postgres', 'direct'], ['x']],
    // What changes nothing here.
    ['PGLOADBALANCEHOSTS', ['random'], []],
    ['PGTZ', ['Asia/Tokyo'], []],
    ['PGCLIENTENCODING', ['LATIN1'], []],
    ['PGSERVICEFILE', ['/services'], []],
  ] as const) {
    for (const value of ['', ...fits]) await readAddress('postgres://h/d', { [name]: value })
    for (const value of refused) {
      const error = await refusal(readAddress('postgres://h/d', { [name]: value }))
      expect(error).toMatchObject({ code: 'InvalidInput', message: expect.stringContaining(name) })
    }
  }
  const direct = readAddress('postgres://localhost/d', { PGSSLNEGOTIATION: 'direct' })
  expect((await refusal(direct)).message).toContain('encrypted')
})

test('the authorities of the system are trusted for the full check only', async () => {
  const env = { PGSSLROOTCERT: 'system' }
  // Not even on this machine is it left out: anybody could have asked for it.
  expect(await readAddress('postgres://localhost/d', env)).toMatchObject({
    ssl: { rejectUnauthorized: true },
  })
  for (const mode of ['disable', 'no-verify', 'verify-ca']) {
    const error = await refusal(readAddress(`postgres://h/d?sslmode=${mode}`, env))
    expect(error).toMatchObject({ code: 'InvalidInput', message: expect.stringContaining('verify-full') })
  }
})
