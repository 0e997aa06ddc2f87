import { invalid } from '../../base/errors.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A variable that makes PostgreSQL's own programs refuse a server, or connect in another way. */
interface Demand {
  /** Values that require nothing unsupported. */
  readonly fits: RegExp
  readonly advice: string
}

const encrypted = 'Unset it, and use sslmode and sslrootcert.'

/**
 * Variables that require something of the connection, so that they must not be ignored. Other unread variables, such as
 * PGTZ and PGCLIENTENCODING, have no effect here: answers do not depend on them.
 */
const demands: Readonly<Record<string, Demand>> = {
  PGTARGETSESSIONATTRS: {
    fits: /^(?:any|read-write|primary|prefer-standby)$/,
    advice: 'A catalog is read and written at the primary server: unset it, or set it to primary.',
  },
  // Missing parts of the URL would come from the service, such as its user or its sslmode.
  PGSERVICE: {
    fits: /^$/,
    advice:
      'Files of services are not read. Unset it, and give what the service has in the URL, or by PGHOST, PGPORT, PGUSER and PGDATABASE.',
  },
  PGREQUIREAUTH: {
    fits: /^$/,
    advice: 'Unset it. channel_binding=require lets a server ask for a password by SCRAM only.',
  },
  PGREQUIREPEER: { fits: /^$/, advice: 'Unset it. The folder of the socket should belong to who may serve.' },
  PGGSSENCMODE: {
    fits: /^(?:disable|prefer)$/,
    advice: `Connections are encrypted by TLS only. ${encrypted}`,
  },
  PGSSLCRL: { fits: /^$/, advice: encrypted },
  PGSSLCRLDIR: { fits: /^$/, advice: encrypted },
  PGSSLCERTMODE: { fits: /^allow$/, advice: 'Unset it. A certificate is sent where sslcert names one.' },
  PGSSLMINPROTOCOLVERSION: {
    fits: /^TLSv1(?:\.[12])?$/,
    advice:
      'TLS 1.2 is the oldest that is spoken. For later ones, start Node with --tls-min-v1.3, and unset it.',
  },
  PGSSLMAXPROTOCOLVERSION: { fits: /^TLSv1\.3$/, advice: 'Unset it, or start Node with --tls-max-v1.2.' },
}

/** Refuses an environment that requires something unsupported of a connection. */
export function refuseDemands(env: Environment): void {
  for (const [name, { fits, advice }] of Object.entries(demands)) {
    const value = env[name]
    if (value === undefined || value === '' || fits.test(value)) continue
    throw invalid(`${name} is ${JSON.stringify(value)}, which is not done here. ${advice}`)
  }
}
