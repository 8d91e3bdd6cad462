import { resolve } from 'node:path';
import { type Anchor, anchorSchema } from '../../core/audit/checkpoint.js';
import { readStrictJson } from '../../core/strict-json.js';
import type { CommandContext } from '../context.js';
import { CommandFailure } from '../exit.js';
import type { Io } from '../io.js';
import { withStore } from '../open-store.js';
import { readBounded, readBoundedFile } from '../read-bounded.js';

/** The prefix of the URL of a store that keeps the checkpoints of another store. */
const STORE_PREFIX = 'store:';
const BYTES_MAX = 64 * 1024 * 1024;
const FETCH_MS_MAX = 10_000;
const WHAT_TO_PASS = 'Pass the output of gen audit head --json, or the file of a sink.';

/** Reads checkpoints that are kept elsewhere: in a file or at a URL as one JSON object or one per line, or in a store. */
export async function readAnchors(context: CommandContext, source: string): Promise<Anchor[]> {
  if (source.startsWith(STORE_PREFIX)) return readFromStore(context, source.slice(STORE_PREFIX.length));
  return parseAnchors(source, await readSource(context.io, source));
}

/** Reads anchors from a store that keeps them for another store. */
async function readFromStore(context: CommandContext, url: string): Promise<Anchor[]> {
  const { anchorsIn } = await import('../../server/audit/store-sink.js');
  return withStore(context, url, async ({ store }) => {
    // Some stores do not list a tenant that never had a claim in them.
    const tenantIds = new Set([...(await store.tenantIds()), context.tenant]);
    const anchors = await anchorsIn(store, [...tenantIds]);
    if (anchors.length === 0)
      throw new CommandFailure(
        'The store in --anchor holds no checkpoints of other stores. Checkpoints arrive there when a coordinator runs with GENESIS_AUDIT_SINKS=store:URL.',
      );
    return anchors;
  });
}

function parseAnchors(source: string, text: string): Anchor[] {
  const whole = readStrictJson(text);
  const values =
    'value' in whole
      ? [whole.value]
      : text
          .split('\n')
          .filter((line) => line.trim() !== '')
          .map((line, index) => lineValue(source, line, index + 1));
  if (values.length === 0) throw new CommandFailure(`${source} contains no checkpoint. ${WHAT_TO_PASS}`);
  return values.map((value, index) => {
    const parsed = anchorSchema.safeParse(value);
    if (parsed.success) return parsed.data;
    const { path, message } = parsed.error.issues[0]!;
    throw new CommandFailure(
      `${source}, checkpoint ${index + 1}: ${path.join('.')}: ${message}. ${WHAT_TO_PASS}`,
    );
  });
}

const readSource = (io: Io, source: string): Promise<string> =>
  /^https?:/.test(source) ? fetchText(source) : readText(resolve(io.cwd, source));

function lineValue(source: string, line: string, lineNumber: number): unknown {
  const parsed = readStrictJson(line);
  if ('value' in parsed) return parsed.value;
  throw new CommandFailure(`${source}, line ${lineNumber}: ${parsed.fault}. ${WHAT_TO_PASS}`);
}

async function readText(path: string): Promise<string> {
  const bytes = await readBoundedFile(path, BYTES_MAX).catch(({ code }: NodeJS.ErrnoException) => {
    throw new CommandFailure(
      `The anchor file ${path} cannot be read (${code}). Pass an existing file, a URL, or store:URL.`,
    );
  });
  if (bytes === null) throw tooLarge(`The anchor file ${path}`);
  return bytes.toString('utf8');
}

async function fetchText(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS_MAX) }).catch((error) => {
    throw new CommandFailure(
      `The anchor ${url} cannot be fetched: ${error.cause?.message ?? error.message}. Check the URL in --anchor.`,
    );
  });
  if (!response.ok)
    throw new CommandFailure(
      `The anchor ${url} cannot be fetched: status ${response.status}. Check the URL in --anchor.`,
    );
  if (response.body === null) return '';
  const bytes = await readBounded(response.body, BYTES_MAX);
  if (bytes === null) throw tooLarge(`The anchor ${url}`);
  return bytes.toString('utf8');
}

const tooLarge = (what: string): CommandFailure =>
  new CommandFailure(`${what} has more than ${BYTES_MAX / 1024 ** 2} MiB. ${WHAT_TO_PASS}`);
