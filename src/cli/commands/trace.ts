import { Option } from 'commander';
import { nowhere, placesByKey } from '../../workspace/scan/coverage.js';
import { type Commit, commitsWithKeys } from '../../workspace/scan/git-ref.js';
import { isReqKey, withoutVersion } from '../../workspace/scan/req-key.js';
import { scanTags } from '../../workspace/scan/tags.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { withMethodology } from '../methodology/door.js';
import { type Traced, traceText } from '../output/trace.js';
import { expected } from '../replies.js';

/** As the wire spells them. */
const DIRECTIONS = ['forward', 'backward', 'both'] as const;

export const addTrace: AddCommands = (program, act) => {
  program
    .command('trace <req>')
    .description('where a requirement came from, and what became of it, down to files, tests and commits')
    .addOption(new Option('--direction <direction>', 'which way to look').choices(DIRECTIONS).default('both'))
    .addHelpText(
      'after',
      `
Examples:
  gen trace REQ-F-AUTH-001
  gen trace REQ-F-AUTH-001 --direction backward
  gen trace REQ-COORD-001 --json | jq .places.implements`,
    )
    .action(act(trace));
};

async function trace(
  context: Context,
  req: string,
  { direction }: { direction: (typeof DIRECTIONS)[number] },
): Promise<void> {
  const is_key = isReqKey(req);
  const key = is_key ? withoutVersion(req) : req;
  await withMethodology(context, 'read', async ({ calls, workspace }) => {
    const known = expected(await calls.trace({ req: key, direction }));
    if (!is_key && known.features.length === 0) {
      throw wrongUsage(`${req} is no requirement's key, as REQ-F-AUTH-001, and no feature of this project.`);
    }
    // Files and commits name requirements, and no other ids.
    const found = workspace === null || !is_key ? NO_FILES : await inFiles(workspace.root, key);
    const traced = { ...known, ...found, gaps: [...known.gaps, ...missing(found, key)] };
    if (isNowhere(traced)) {
      throw new CommandFailure(
        `Nothing names ${key}: no feature, no file, no commit. What there is: gen gaps --dry-run`,
      );
    }
    context.show(traced, () => traceText(traced, context));
  });
}

type Found = Pick<Traced, 'places' | 'commits'>;

const NO_FILES: Found = { places: null, commits: [] };

async function inFiles(root: string, key: string): Promise<Found> {
  const [{ tags }, commits] = await Promise.all([scanTags(root), commitsWithKeys(root, null)]);
  const naming = commits.filter(({ keys }: Commit) => keys.includes(key));
  return { places: placesByKey(tags).get(key) ?? nowhere(), commits: naming };
}

function missing({ places }: Found, key: string): string[] {
  if (places === null) return [];
  const gaps: string[] = [];
  if (places.specified.length === 0) gaps.push(`No specification names ${key}.`);
  if (places.implements.length === 0) gaps.push(`No code says: Implements: ${key}`);
  if (places.validates.length === 0) gaps.push(`No test says: Validates: ${key}`);
  if (places.telemetry.length === 0) gaps.push(`Nothing measures it: req="${key}"`);
  return gaps;
}

const isNowhere = ({ features, places, commits }: Traced): boolean =>
  features.length === 0 &&
  commits.length === 0 &&
  Object.values(places ?? {}).every((found) => found.length === 0);
