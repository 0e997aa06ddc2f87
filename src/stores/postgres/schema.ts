import { numberDigits } from '../../base/store/append.ts'
import { afterNumber } from './key-bytes.ts'
import { dollarQuoted, named } from './statements.ts'

/** The format of the tables and functions. A release uses no other format. */
export const storeFormat = 2

/** The statements that migrate a schema from each format to the next; the first one makes it. */
export function stepsTo(schema: string): readonly string[] {
  return [first(schema), second(schema)]
}

/*
 * The functions have settings for the plans that bodies need. Index scans, at any size of the table, also keep the
 * predicate locks of a serializable transaction small.
 */
const plans = [
  'enable_seqscan = off',
  'enable_bitmapscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'jit = off',
]
  .map((setting) => `SET ${setting}`)
  .join(' ')

/** Reads the piece at hand, forwards or backwards. */
const piece = (records: string, order: 'ASC' | 'DESC') =>
  `SELECT t.key, t.value, t.version FROM ${records} t WHERE t.key >= piece.lower AND t.key < piece.upper ORDER BY t.key ${order} LIMIT piece.most`

/**
 * Goes through pieces. Not by their numbers: to find the n-th value of an array, the database steps over those before it,
 * so thirty thousand pieces took it ten seconds.
 */
const eachPiece = (arrays: string, columns: string) =>
  `FOR piece IN SELECT p.* FROM unnest(${arrays}) WITH ORDINALITY AS p(${columns}, i) LOOP`

const digest = (records: string, order: 'ASC' | 'DESC') =>
  `sha256(coalesce((SELECT string_agg(s.key || int8send(s.version), ''::bytea ORDER BY s.key ${order}) FROM (${piece(records, order)}) s), ''::bytea))`

function first(schema: string): string {
  const commits = named(schema, 'commits')
  return `
    CREATE TABLE ${named(schema, 'format')} (version integer PRIMARY KEY);
    CREATE TABLE ${named(schema, 'records')} (key bytea PRIMARY KEY, value text NOT NULL, version bigint NOT NULL) WITH (fillfactor = 90);
    COMMENT ON TABLE ${named(schema, 'records')} IS 'The records of a Tabularium catalog. Each version is the number of the commit that wrote it.';
    CREATE TABLE ${commits} (id bigint PRIMARY KEY, happened boolean NOT NULL);
    COMMENT ON TABLE ${commits} IS 'The latest commits, so that one whose answer was lost can be told.';
    CREATE TABLE ${named(schema, 'turns')} (turn integer);
    INSERT INTO ${named(schema, 'format')} VALUES (1);`
}

/** Commits without common records run in parallel. An appended record gets its number later. */
function second(schema: string): string {
  const appended = named(schema, 'appended')
  return `
    LOCK TABLE ${named(schema, 'turns')} IN ACCESS EXCLUSIVE MODE;
    DROP FUNCTION IF EXISTS ${named(schema, 'commit_records')}, ${named(schema, 'read_records')};
    COMMENT ON TABLE ${named(schema, 'turns')} IS 'Always empty. A commit locks it, together with others or alone.';
    CREATE TABLE ${named(schema, 'numbering')} (turn integer);
    COMMENT ON TABLE ${named(schema, 'numbering')} IS 'Always empty. Who numbers records beside commits locks it.';
    CREATE TABLE ${appended} (prefix bytea, place bigint GENERATED ALWAYS AS IDENTITY, value text NOT NULL, version bigint NOT NULL, PRIMARY KEY (prefix, place)) WITH (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
    COMMENT ON TABLE ${appended} IS 'Records that get their number under a prefix soon, in the order of their places.';
    ${functionsOf(schema, 'CREATE')}
    INSERT INTO ${named(schema, 'format')} VALUES (2);`
}

/**
 * The number of a schema's functions that read its own tables. Functions contain the name of the schema, so after a
 * rename they read the tables of another schema, or of none. The parameters are those of {@link ownFunctionsOf}.
 */
export const ownFunctions = `
  SELECT count(*)::integer FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
  WHERE n.nspname = $1 AND p.proname IN ('read_records', 'commit_records', 'number_records') AND position($2 IN p.prosrc) > 0`

export const allFunctions = 3

export function ownFunctionsOf(schema: string): readonly string[] {
  return [schema, `${named(schema, 'records')} t `]
}

const behindNumbers = `\\x${Buffer.from(afterNumber.bound).toString('hex')}`
const endOfNumber = `\\x${Buffer.from(afterNumber.end).toString('hex')}`

type Create = 'CREATE' | 'CREATE OR REPLACE'

/** Makes the functions of a schema. */
export function functionsOf(schema: string, create: Create): string {
  return `
${readFunction(schema, create)}

${numberFunction(schema, create)}

${commitFunction(schema, create)}`
}

const clock = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** Whether a read would include records without a number. */
const isUnnumbered = (
  appended: string,
) => `(EXISTS (SELECT FROM ${appended} a WHERE a.prefix = ANY(p_prefixes))
        OR EXISTS (SELECT FROM unnest(p_lower, p_upper) AS p(lower, upper) WHERE EXISTS (SELECT FROM ${appended} a WHERE a.prefix >= p.lower AND a.prefix < p.upper)))`

/** Returns the records of the piece at hand. */
const pieceRows = (records: string) => `
      RETURN QUERY SELECT piece.i::integer, NULL::bytea, NULL::text, NULL::bigint;
      IF piece.backwards THEN RETURN QUERY SELECT piece.i::integer, s.key, s.value, s.version FROM (${piece(records, 'DESC')}) s;
      ELSE RETURN QUERY SELECT piece.i::integer, s.key, s.value, s.version FROM (${piece(records, 'ASC')}) s;
      END IF;`

function readFunction(schema: string, create: Create): string {
  const records = named(schema, 'records')
  return `    ${create} FUNCTION ${named(schema, 'read_records')}(
      p_keys bytea[], p_prefixes bytea[], p_lower bytea[], p_upper bytea[], p_limits bigint[], p_reverse boolean[]
    ) RETURNS TABLE (part integer, key bytea, value text, version bigint) LANGUAGE plpgsql STABLE ${plans} AS ${dollarQuoted(`
    #variable_conflict use_column
    DECLARE
      piece record;
    BEGIN
      RETURN QUERY SELECT -1, NULL::bytea, CASE WHEN ${isUnnumbered(named(schema, 'appended'))} THEN 'unnumbered' END, ${clock};
      RETURN QUERY SELECT 0, t.key, t.value, t.version FROM ${records} t WHERE t.key = ANY(p_keys);
      ${eachPiece('p_lower, p_upper, p_limits, p_reverse', 'lower, upper, most, backwards')} ${pieceRows(records)}
      END LOOP;
    END `)};`
}

function numberFunction(schema: string, create: Create): string {
  const records = named(schema, 'records')
  const appended = named(schema, 'appended')
  return `    ${create} FUNCTION ${named(schema, 'number_records')}() RETURNS void LANGUAGE plpgsql VOLATILE ${plans} AS ${dollarQuoted(`
    DECLARE
      one bytea;
      last bigint;
    BEGIN
      FOR one IN SELECT DISTINCT a.prefix FROM ${appended} a LOOP
        last := coalesce((
          SELECT convert_from(substr(t.key, length(one) + 1, ${numberDigits}), 'UTF8')::bigint
          FROM ${records} t WHERE t.key > one AND t.key < one || '${behindNumbers}'::bytea
          ORDER BY t.key DESC LIMIT 1
        ), 0);
        WITH taken AS (DELETE FROM ${appended} WHERE prefix = one RETURNING place, value, version)
        INSERT INTO ${records} (key, value, version)
        SELECT one || convert_to(lpad((last + row_number() OVER (ORDER BY t.place))::text, ${numberDigits}, '0'), 'UTF8') || '${endOfNumber}'::bytea, t.value, t.version
        FROM taken t;
      END LOOP;
    END `)};`
}

function commitFunction(schema: string, create: Create): string {
  const records = named(schema, 'records')
  const commits = named(schema, 'commits')
  const appended = named(schema, 'appended')
  const turns = named(schema, 'turns')
  return `    ${create} FUNCTION ${named(schema, 'commit_records')}(
      p_turn text, p_first integer[], p_second integer[], p_exclusive boolean[],
      p_id bigint, p_keys bytea[], p_versions bigint[],
      p_prefixes bytea[], p_lower bytea[], p_upper bytea[], p_limits bigint[], p_reverse boolean[], p_digests bytea[],
      p_put bytea[], p_values text[], p_remove bytea[], p_prefix bytea, p_appended text[]
    ) RETURNS TABLE (part integer, key bytea, value text, version bigint) LANGUAGE plpgsql VOLATILE ${plans} AS ${dollarQuoted(`
    #variable_conflict use_column
    DECLARE
      still boolean := true;
      piece record;
    BEGIN
      IF current_setting('transaction_isolation') <> (ARRAY['read committed', 'serializable'])[1 + (p_turn = 'engine')::integer] THEN
        RAISE EXCEPTION 'a commit has the wrong isolation' USING ERRCODE = 'invalid_transaction_state';
      END IF;
      IF p_turn = 'beside' THEN
        LOCK TABLE ${turns} IN ROW SHARE MODE;
        PERFORM CASE WHEN l.exclusive THEN pg_advisory_xact_lock(l.a, l.b) ELSE pg_advisory_xact_lock_shared(l.a, l.b) END
          FROM unnest(p_first, p_second, p_exclusive) AS l(a, b, exclusive);
      ELSIF p_turn = 'alone' THEN
        LOCK TABLE ${turns} IN EXCLUSIVE MODE;
      END IF;
      IF p_turn <> 'beside' AND ${isUnnumbered(appended)} THEN PERFORM ${named(schema, 'number_records')}(); END IF;
      RETURN QUERY SELECT -1, NULL::bytea, NULL::text, ${clock};
      RETURN QUERY SELECT 0, r.key, t.value, coalesce(t.version, 0)
        FROM unnest(p_keys, p_versions) AS r(key, version) LEFT JOIN ${records} t ON t.key = r.key
        WHERE coalesce(t.version, 0) <> r.version;
      still := NOT FOUND;
      ${eachPiece('p_lower, p_upper, p_limits, p_reverse, p_digests', 'lower, upper, most, backwards, digest')}
        CONTINUE WHEN piece.digest =
          CASE WHEN piece.backwards THEN ${digest(records, 'DESC')} ELSE ${digest(records, 'ASC')} END;
        still := false; ${pieceRows(records)}
      END LOOP;
      IF NOT still THEN RETURN; END IF;
      INSERT INTO ${commits} VALUES (p_id, true);
      DELETE FROM ${records} t USING unnest(p_remove) AS r(key) WHERE t.key = r.key;
      INSERT INTO ${records} AS t SELECT r.key, r.value, p_id FROM unnest(p_put, p_values) AS r(key, value)
        ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, version = EXCLUDED.version;
      INSERT INTO ${appended} (prefix, value, version)
        SELECT p_prefix, a.value, p_id FROM unnest(p_appended) WITH ORDINALITY AS a(value, at) ORDER BY a.at;
    END `)};`
}
