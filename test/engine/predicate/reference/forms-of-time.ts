import type { Maker } from './maker.ts'
import { quote } from './values.ts'

/* Forms that are written less often, of dates, times, timestamps and durations. */

const moments = [
  'ts',
  'tsm',
  'tss',
  'tz',
  'd',
  'day',
  'day64',
  'at_s',
  'at_m',
  'at_u',
  'at_n',
  'utc_s',
  'utc_u',
  'utc_n',
  'berlin_s',
  'berlin_m',
  'berlin_u',
  'berlin_n',
]
export const instants = [
  '2024-01-01',
  '2024-01-01 00:00:00',
  '2024-01-01T00:00:00',
  '2024-01-01T00:00:00Z',
  '2024-01-01 00:00',
  '2024-02-30',
  '2024-1-1',
  '2024-01-01 00:00:00.5',
  '2024-01-01 00:00:00.123456789',
  '2024-01-01T01:00:00+01:00',
  '2024-01-01 00:00:00 UTC',
  '1969-12-31 23:59:59.999',
  '2024-01-01 00:00:00 Europe/Berlin',
  '20240101',
  '2024-01-01 24:00:00',
  'x',
  '',
  ' 2024-01-01',
  '2024-01-01T00:00',
  '2024-01-01T00',
  '12:34:56',
  '2024-01-01 00:00:60',
  '2024-01-01T00:00:00-0130',
]
const parts = [
  'year',
  'YEAR',
  'quarter',
  'month',
  'week',
  'day',
  'doy',
  'dow',
  'isodow',
  'isoyear',
  'hour',
  'minute',
  'second',
  'millisecond',
  'microsecond',
  'nanosecond',
  'epoch',
  'decade',
  'century',
  'milliseconds',
  'years',
  'months',
  'Day',
  'd',
  'y',
  'mon',
  'timezone',
  'x',
  '',
  'dayofweek',
]

export function moment(m: Maker, compare: string): string {
  const at = m.pick(...moments)
  const text = quote(m.pick(...instants))
  const part = m.pick(...parts)
  return m.one(
    () => `${at} ${compare} ${text}`,
    () => `NOT (${at} ${compare} ${text})`,
    () =>
      `${at} ${compare} ${m.pick('DATE', 'TIMESTAMP', 'TIMESTAMP(0)', 'TIMESTAMP(9)', 'timestamp', 'date')} ${text}`,
    () => `${at} BETWEEN ${text} AND ${m.pick('DATE', 'TIMESTAMP', '')} ${quote(m.pick(...instants))}`,
    () => `${at} IN (${text}, ${quote(m.pick(...instants))})`,
    () => `NOT (${at} IN (${text}, ${m.pick('d', 'ts', 'NULL', "DATE '2024-01-01'")}))`,
    () => `${at} ${compare} ${m.pick(...moments)}`,
    () =>
      `${m.pick('date_part', 'datepart', 'DATE_PART')}(${quote(part)}, ${at}) ${compare} ${m.pick('1', '0', '2024', '12', '1.5', '53', '-1', "'1'", '1970', '1704067200')}`,
    () =>
      `date_part(${quote(part)}, ${m.pick(at, 'time_s', 'time_u', 'time_n', 'i', 'NULL', `CAST(${text} AS TIMESTAMP)`)}) ${compare} 1`,
    () =>
      `${m.pick('date_trunc', 'datetrunc', 'DATE_TRUNC')}(${quote(part)}, ${at}) ${compare} ${m.one(
        () => m.pick(...moments),
        () => text,
        () => `TIMESTAMP ${text}`,
      )}`,
    () => `date_trunc(${quote(part)}, ${m.pick('time_s', 'time_u', 's', 'i', 'NULL', 'last_s')}) IS NOT NULL`,
    () =>
      `${m.pick('to_timestamp', 'to_timestamp_seconds', 'to_timestamp_millis', 'to_timestamp_micros', 'to_timestamp_nanos', 'to_date', 'to_unixtime', 'from_unixtime')}(${m.pick(at, 'wide', 'j', 'written', 'h', 'cents', '1', '1.5', text, 'NULL', 's')}) ${compare} ${m.pick(at, '1', 'NULL', "'1970-01-01'")}`,
    () =>
      `make_date(${m.pick('2024', 'j', '0')}, ${m.pick('1', '13', 'j', '2')}, ${m.pick('1', '30', '0', 'j')}) ${compare} d`,
    () =>
      `${at} ${m.pick('+', '-')} ${m.pick('last_s', 'last_m', 'last_u', 'last_n', '1', at)} ${compare} ${m.pick(...moments, 'last_s')}`,
    () =>
      `${m.pick('time_s', 'time_m', 'time_u', 'time_n')} ${compare} ${m.pick("'12:34:56'", "'00:00:00'", "'1:00'", "'24:00:00'", "'00:00:01.5'", "'x'", 'time_s', 'time_m', 'time_u', 'time_n', 's', '0', 'NULL', "CAST('12:34:56' AS TIME)")}`,
    () =>
      `${m.pick('last_s', 'last_m', 'last_u', 'last_n')} ${compare} ${m.pick('last_s', 'last_m', 'last_u', 'last_n', '5', "'5'", 'wide', 'NULL', 'at_s - at_s')}`,
    () => `CAST(${m.pick(at, 'time_s', 'time_n', 'last_s', 'last_n')} AS STRING) ${compare} ${text}`,
  )
}
