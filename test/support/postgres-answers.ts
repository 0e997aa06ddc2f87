import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'

/** A self-signed certificate for db.example and its key, for tests only. */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIBmDCCAT6gAwIBAgIUcEn1vd2TqEWzfM8bjZ5UFjse/NowCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKZGIuZXhhbXBsZTAgFw0yNjExMjMxMzQwMjZaGA8yMTI2MTAz
MDEzNDAyNlowFTETMBEGA1UEAwwKZGIuZXhhbXBsZTBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABBqrePVFVU1k+g3/A/bYx9lt37cmoPqKftmf/mIO1Dcw7TiMAcp6
7IskaLL6hMj7O8dLW9b+07x8XSGZ7BXBnz6jajBoMB0GA1UdDgQWBBTyvny0Q8G6
AXRz7Mklp+mWLtWfSjAfBgNVHSMEGDAWgBTyvny0Q8G6AXRz7Mklp+mWLtWfSjAP
BgNVHRMBAf8EBTADAQH/MBUGA1UdEQQOMAyCCmRiLmV4YW1wbGUwCgYIKoZIzj0E
AwIDSAAwRQIgMsZSrLfuinXA4vqqZxOxXohZwUFwlv1vn4L6txsbHiICIQC151T7
UH9FhYv+LwUuz9El0dRzMheINBEXy+fRa87rkw==
-----END CERTIFICATE-----
`
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg3h0ph02viKGRBJuX
0xUBogyHhpetqoFELBizisvgzFqhRANCAAQaq3j1RVVNZPoN/wP22MfZbd+3JqD6
in7Zn/5iDtQ3MO04jAHKeuyLJGiy+oTI+zvHS1vW/tO8fF0hmewVwZ8+
-----END PRIVATE KEY-----
`

/** How a server responds to a request for TLS. */
export type Tls = 'none' | 'its certificate' | 'no common version'

/**
 * A server that refuses each login with this SQLSTATE, as PostgreSQL does. `logins` counts them, after the TLS
 * handshake if there is one.
 */
export async function refusingServer(
  state: string,
  tls: Tls = 'none',
): Promise<{ readonly port: number; readonly logins: () => number }> {
  let logins = 0
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    listen(socket)
  })
  const listen = (socket: Socket) => {
    socket.on('error', () => {})
    socket.once('data', (bytes) => {
      if (bytes.readInt32BE(4) !== tlsRequest) {
        logins++
        return void socket.end(errorAnswer(state))
      }
      socket.write(tls === 'none' ? 'N' : 'S')
      if (tls === 'none') return listen(socket)
      const only = tls === 'no common version' && ({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1' } as const)
      listen(new TLSSocket(socket, { isServer: true, cert: certificate, key, ...only }))
    })
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return { port: (server.address() as AddressInfo).port, logins: () => logins }
}

const tlsRequest = 80_877_103

/** An error as a server sends it. */
export function errorAnswer(state: string, severity = 'FATAL'): Buffer {
  const fields = Buffer.from(`S${severity}\0V${severity}\0C${state}\0Mrefused\0\0`)
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}
