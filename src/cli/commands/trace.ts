import { withoutUndefined } from '../../core/without-undefined.js';
import { emptyLocations, locationsByKey } from '../../workspace/scan/coverage.js';
import { commitsWithKeys } from '../../workspace/scan/git-ref.js';
import { isReqKey, withoutVersion } from '../../workspace/scan/req-key.js';
import { scanTags } from '../../workspace/scan/tags.js';
import { defineCommand } from '../command.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { withMethodology } from '../methodology/project-connection.js';
import { AT_OPTION } from '../option-parsers.js';
import { type TraceResult, traceText } from '../output/trace.js';
import { unwrapReply } from '../replies.js';

export const traceCommand = defineCommand('trace <req>', {
  description: 'trace a requirement from its origin to files, tests and commits',
  options: {
    '--direction <direction>': {
      about: 'trace direction',
      choices: ['forward', 'backward', 'both'],
      default: 'both',
    },
    ...AT_OPTION,
  },
  help: `
Examples:
  gen trace REQ-F-AUTH-001
  gen trace REQ-F-AUTH-001 --direction backward
  gen trace REQ-COORD-001 --json | jq .places.implements`,
  async run(context, req, { direction, at }) {
    const isKey = isReqKey(req);
    const key = isKey ? withoutVersion(req) : req;
    await withMethodology(context, 'read', async ({ calls, workspace }) => {
      const recorded = unwrapReply(await calls.trace({ req: key, direction, ...withoutUndefined({ at }) }));
      if (!isKey && recorded.features.length === 0) {
        throw wrongUsage(
          `${req} is not a requirement key such as REQ-F-AUTH-001, and not a feature of this project. Features: gen status`,
        );
      }
      // Files and commits are tagged with requirement keys only, and files show only the present state.
      const fileTraces =
        workspace === null || !isKey || at !== undefined
          ? NO_FILE_TRACES
          : await traceInFiles(workspace.root, key);
      const gaps = [...recorded.gaps, ...missingTraces(fileTraces, key)];
      const traced = { ...recorded, ...fileTraces, gaps };
      if (hasNoTrace(traced)) {
        throw new CommandFailure(
          `No feature, file or commit refers to ${key}. Requirements: gen gaps --dry-run`,
        );
      }
      context.printReply(traced, () => traceText(traced, context));
    });
  },
});

type FileTraces = Pick<TraceResult, 'places' | 'commits'>;

const NO_FILE_TRACES: FileTraces = { places: null, commits: [] };

async function traceInFiles(root: string, key: string): Promise<FileTraces> {
  const [{ tags }, commits] = await Promise.all([scanTags(root), commitsWithKeys(root, null)]);
  const matching = commits.filter(({ keys }) => keys.includes(key));
  return { places: locationsByKey(tags).get(key) ?? emptyLocations(), commits: matching };
}

function missingTraces({ places }: FileTraces, key: string): string[] {
  if (places === null) return [];
  const messages = [
    [places.specified, `No specification refers to ${key}.`],
    [places.implements, `No code has the tag Implements: ${key}`],
    [places.validates, `No test has the tag Validates: ${key}`],
    [places.telemetry, `No telemetry has the tag req="${key}"`],
  ] as const;
  return messages.filter(([locations]) => locations.length === 0).map(([, message]) => message);
}

const hasNoTrace = ({ features, places, commits }: TraceResult): boolean =>
  features.length === 0 &&
  commits.length === 0 &&
  Object.values(places ?? {}).every((locations) => locations.length === 0);
