import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { GapsReply, VersionReleaseReply } from '../../coordinator/methodology/wire.js';
import { COVERAGE_LAYERS } from '../../workspace/scan/coverage.js';
import {
  commitsWithKeys,
  headCommit,
  latestTag,
  type TaggedCommit,
  tagRelease,
} from '../../workspace/scan/git-ref.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { buildContextManifest } from '../methodology/context-files.js';
import { requireWorkspace, withMethodology } from '../methodology/project-connection.js';
import { scanRequirements } from '../methodology/requirement-scan.js';
import { writeNew } from '../methodology/write-new.js';
import { readinessText, releaseText } from '../output/release.js';
import { reportRefusal, unwrapReply } from '../replies.js';

interface ReleaseOptions {
  readonly version: string;
  readonly dryRun?: boolean;
  readonly tag?: boolean;
}

export const addRelease: AddCommands = (program, wrapAction) => {
  program
    .command('release')
    .description('release a version: readiness, manifest, changelog')
    .requiredOption('--version <version>', 'as 1.2.0')
    .option('--dry-run', 'say whether it could be, and write nothing')
    .option('--tag', 'make the git tag vVERSION too')
    .addHelpText(
      'after',
      `
Examples:
  gen release --version 1.2.0 --dry-run
  gen release --version 1.2.0 --tag

The manifest is docs/releases/release-VERSION.yml. Its changelog has the commits since the last tag that name a
requirement.`,
    )
    .action(wrapAction(release));
};

/** Restricts a version to what is safe in a file name and a tag. The coordinator validates it fully. */
const VERSION = /^\d+\.\d+\.\d+[0-9A-Za-z.+-]{0,128}$/;

async function release(
  context: CommandContext,
  { version, dryRun = false, tag = false }: ReleaseOptions,
): Promise<void> {
  if (!VERSION.test(version)) throw wrongUsage(`${version} is no version. Expected one as 1.2.0.`);
  const { root } = requireWorkspace(context);
  const path = `docs/releases/release-${version}.yml`;
  await withMethodology(context, dryRun ? 'read' : 'write', async ({ calls }) => {
    if (!dryRun) await assertReleasable(root, path, tag);
    const { gapsRequest } = await scanRequirements(root, calls, COVERAGE_LAYERS);
    const gaps = unwrapReply(await calls.gaps({ ...gapsRequest, dry_run: true }));
    const gitTag = tag ? { git_tag: `v${version}` } : {};
    const figures = { ...coverageFigures(gaps), context_hash: await contextHash(context), ...gitTag };
    const request = { version, dry_run: dryRun, agent_id: await context.agent(), ...figures };
    const reply = unwrapReply(await calls.release(request));
    if (!reply.success || reply.release === null) return showRefusal(context, reply);
    const changelog = await commitsWithKeys(root, await latestTag(root));
    if (!dryRun) await writeManifest(context, root, path, reply.release, changelog);
    if (!dryRun && tag && !(await tagRelease(root, `v${version}`, `Release ${version}`)))
      context.printNotice(`git would not make the tag v${version}. Make it yourself: git tag -a v${version}`);
    const manifestPath = dryRun ? null : path;
    context.show({ ...reply, changelog, path: manifestPath }, () =>
      releaseText(reply, changelog, manifestPath, context),
    );
  });
}

const contextHash = async (context: CommandContext): Promise<string> =>
  (await buildContextManifest(requireWorkspace(context))).aggregate_hash;

function coverageFigures({ total_req_keys, full_coverage }: GapsReply) {
  const coverage_pct = total_req_keys === 0 ? 100 : Math.round((full_coverage / total_req_keys) * 1000) / 10;
  return { coverage_pct, known_gaps: total_req_keys - full_coverage };
}

/** Fails before anything is written if the file exists already or there is no commit to tag. */
async function assertReleasable(root: string, path: string, tag: boolean): Promise<void> {
  const isExisting = (await stat(join(root, path)).catch(() => null)) !== null;
  if (isExisting)
    throw new CommandFailure(`${path} is there already, and stays as it is. Choose a higher version.`);
  if (tag && (await headCommit(root)) === null)
    throw new CommandFailure('There is no commit to tag. Commit first, or leave --tag out.');
}

function showRefusal(context: CommandContext, reply: VersionReleaseReply): void {
  if (!context.is_json && reply.readiness.length > 0) context.print(readinessText(reply.readiness, context));
  reportRefusal(context, reply, '');
}

async function writeManifest(
  context: CommandContext,
  root: string,
  path: string,
  manifest: NonNullable<VersionReleaseReply['release']>,
  changelog: readonly TaggedCommit[],
): Promise<void> {
  const text = stringify({ ...manifest, changelog });
  if (!(await writeNew(join(root, path), text)))
    context.printNotice(
      `${path} has come to be meanwhile, and stays as it is. The release itself is in the log.`,
    );
}
