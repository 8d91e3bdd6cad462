import { Option } from 'commander';
import { emptyLocations, locationsByKey } from '../../workspace/scan/coverage.js';
import { commitsWithKeys, type TaggedCommit } from '../../workspace/scan/git-ref.js';
import { isReqKey, withoutVersion } from '../../workspace/scan/req-key.js';
import { scanTags } from '../../workspace/scan/tags.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { withMethodology } from '../methodology/project-connection.js';
import { type TraceResult, traceText } from '../output/trace.js';
import { unwrapReply } from '../replies.js';

/** The values that the API accepts. */
const DIRECTIONS = ['forward', 'backward', 'both'] as const;

export const addTrace: AddCommands = (program, wrapAction) => {
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
    .action(wrapAction(trace));
};

async function trace(
  context: CommandContext,
  req: string,
  { direction }: { direction: (typeof DIRECTIONS)[number] },
): Promise<void> {
  const isKey = isReqKey(req);
  const key = isKey ? withoutVersion(req) : req;
  await withMethodology(context, 'read', async ({ calls, workspace }) => {
    const recorded = unwrapReply(await calls.trace({ req: key, direction }));
    if (!isKey && recorded.features.length === 0) {
      throw wrongUsage(`${req} is no requirement's key, as REQ-F-AUTH-001, and no feature of this project.`);
    }
    // Files and commits are tagged with requirement keys only.
    const fileTraces = workspace === null || !isKey ? NO_FILES : await traceInFiles(workspace.root, key);
    const traced = {
      ...recorded,
      ...fileTraces,
      gaps: [...recorded.gaps, ...missingTraces(fileTraces, key)],
    };
    if (hasNoTrace(traced)) {
      throw new CommandFailure(
        `Nothing names ${key}: no feature, no file, no commit. What there is: gen gaps --dry-run`,
      );
    }
    context.show(traced, () => traceText(traced, context));
  });
}

type FileTraces = Pick<TraceResult, 'places' | 'commits'>;

const NO_FILES: FileTraces = { places: null, commits: [] };

async function traceInFiles(root: string, key: string): Promise<FileTraces> {
  const [{ tags }, commits] = await Promise.all([scanTags(root), commitsWithKeys(root, null)]);
  const matching = commits.filter(({ keys }: TaggedCommit) => keys.includes(key));
  return { places: locationsByKey(tags).get(key) ?? emptyLocations(), commits: matching };
}

function missingTraces({ places }: FileTraces, key: string): string[] {
  if (places === null) return [];
  const gapMessages: string[] = [];
  if (places.specified.length === 0) gapMessages.push(`No specification names ${key}.`);
  if (places.implements.length === 0) gapMessages.push(`No code says: Implements: ${key}`);
  if (places.validates.length === 0) gapMessages.push(`No test says: Validates: ${key}`);
  if (places.telemetry.length === 0) gapMessages.push(`Nothing measures it: req="${key}"`);
  return gapMessages;
}

const hasNoTrace = ({ features, places, commits }: TraceResult): boolean =>
  features.length === 0 &&
  commits.length === 0 &&
  Object.values(places ?? {}).every((found) => found.length === 0);
