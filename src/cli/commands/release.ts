import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { GapsReply, ReleaseReply } from '../../coordinator/methodology/wire.js';
import { LAYERS } from '../../workspace/scan/coverage.js';
import { type Commit, commitsWithKeys, gitRef, latestTag, tagRelease } from '../../workspace/scan/git-ref.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { contextOf } from '../methodology/context-files.js';
import { inWorkspace, withMethodology } from '../methodology/door.js';
import { surveyOf } from '../methodology/survey.js';
import { writeNew } from '../methodology/write-new.js';
import { readinessText, releaseText } from '../output/release.js';
import { expected, refuse } from '../replies.js';

interface ReleaseOptions {
  readonly version: string;
  readonly dryRun?: boolean;
  readonly tag?: boolean;
}

export const addRelease: AddCommands = (program, act) => {
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
    .action(act(release));
};

/** What may name a file and a tag; the coordinator looks closer. */
const VERSION = /^\d+\.\d+\.\d+[0-9A-Za-z.+-]{0,128}$/;

async function release(
  context: Context,
  { version, dryRun = false, tag = false }: ReleaseOptions,
): Promise<void> {
  if (!VERSION.test(version)) throw wrongUsage(`${version} is no version. Expected one as 1.2.0.`);
  const { root } = inWorkspace(context);
  const path = `docs/releases/release-${version}.yml`;
  await withMethodology(context, dryRun ? 'read' : 'write', async ({ calls }) => {
    if (!dryRun) await assertFree(root, path, tag);
    const { found } = await surveyOf(root, calls, LAYERS);
    const gaps = expected(await calls.gaps({ ...found, dry_run: true }));
    const git_tag = tag ? { git_tag: `v${version}` } : {};
    const figures = { ...figuresOf(gaps), context_hash: await contextHash(context), ...git_tag };
    const asked = { version, dry_run: dryRun, agent_id: await context.agent(), ...figures };
    const reply = expected(await calls.release(asked));
    if (!reply.success || reply.release === null) return refused(context, reply);
    const changelog = await commitsWithKeys(root, await latestTag(root));
    if (!dryRun) await write(context, root, path, reply.release, changelog);
    if (!dryRun && tag && !(await tagRelease(root, `v${version}`, `Release ${version}`)))
      context.remark(`git would not make the tag v${version}. Make it yourself: git tag -a v${version}`);
    const written = dryRun ? null : path;
    context.show({ ...reply, changelog, path: written }, () =>
      releaseText(reply, changelog, written, context),
    );
  });
}

const contextHash = async (context: Context): Promise<string> =>
  (await contextOf(inWorkspace(context))).aggregate_hash;

function figuresOf({ total_req_keys, full_coverage }: GapsReply) {
  const coverage_pct = total_req_keys === 0 ? 100 : Math.round((full_coverage / total_req_keys) * 1000) / 10;
  return { coverage_pct, known_gaps: total_req_keys - full_coverage };
}

/** What could not be written afterwards is said before anything is. */
async function assertFree(root: string, path: string, tag: boolean): Promise<void> {
  const is_there = (await stat(join(root, path)).catch(() => null)) !== null;
  if (is_there)
    throw new CommandFailure(`${path} is there already, and stays as it is. Choose a higher version.`);
  if (tag && (await gitRef(root)) === null)
    throw new CommandFailure('There is no commit to tag. Commit first, or leave --tag out.');
}

function refused(context: Context, reply: ReleaseReply): void {
  if (!context.is_json && reply.readiness.length > 0) context.print(readinessText(reply.readiness, context));
  refuse(context, reply, '');
}

async function write(
  context: Context,
  root: string,
  path: string,
  manifest: NonNullable<ReleaseReply['release']>,
  changelog: readonly Commit[],
): Promise<void> {
  const text = stringify({ ...manifest, changelog });
  if (!(await writeNew(join(root, path), text)))
    context.remark(`${path} has come to be meanwhile, and stays as it is. The release itself is in the log.`);
}
