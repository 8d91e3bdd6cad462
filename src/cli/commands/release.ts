import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { GapsReply } from '../../core/contract/gaps.js';
import type { VersionReleaseReply } from '../../core/contract/version-releases.js';
import { COVERAGE_LAYERS } from '../../workspace/scan/coverage.js';
import { commitsWithKeys, headCommit, latestTag, tagRelease } from '../../workspace/scan/git-ref.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { buildContextManifest } from '../methodology/context-files.js';
import { withMethodology } from '../methodology/project-connection.js';
import { scanRequirements } from '../methodology/requirement-scan.js';
import { writeNew } from '../methodology/write-new.js';
import { readinessText, releaseText } from '../output/release.js';
import { reportRefusal, unwrapReply } from '../replies.js';

export const releaseCommand = defineCommand('release', {
  description: 'release a version: check readiness, write the manifest and changelog',
  options: {
    '--version <version>': { about: 'version, such as 1.2.0', required: true },
    '--dry-run': 'check the readiness only, write nothing',
    '--tag': 'also create the git tag vVERSION',
  },
  help: `
Examples:
  gen release --version 1.2.0 --dry-run
  gen release --version 1.2.0 --tag

The manifest is docs/releases/release-VERSION.yml. Its changelog lists the commits since the last tag whose
messages name a requirement.`,
  async run(context, { version, dryRun = false, tag = false }) {
    if (!VERSION.test(version))
      throw wrongUsage(`${version} is not a valid version. Pass one such as 1.2.0.`);
    const workspace = context.requireWorkspace();
    const { root } = workspace;
    const path = `docs/releases/release-${version}.yml`;
    await withMethodology(context, dryRun ? 'read' : 'write', async ({ calls }) => {
      if (!dryRun) await assertReleasable(root, path, tag);
      const { gapsRequest } = await scanRequirements(root, calls, COVERAGE_LAYERS);
      const gaps = unwrapReply(await calls.gaps({ ...gapsRequest, dry_run: true }));
      const { context_hash } = await buildContextManifest(workspace);
      const gitTag = tag ? { git_tag: `v${version}` } : {};
      const figures = { ...coverageFigures(gaps), context_hash, ...gitTag };
      const request = { version, dry_run: dryRun, agent_id: await context.agent(), ...figures };
      const reply = unwrapReply(await calls.release(request));
      if (!reply.success || reply.release === null) return showRefusal(context, reply);
      const changelog = await commitsWithKeys(root, await latestTag(root));
      const manifest = stringify({ ...reply.release, changelog });
      if (!dryRun && !(await writeNew(join(root, path), manifest)))
        context.printNotice(
          `${path} was created meanwhile and was not changed. The release itself is in the log.`,
        );
      if (!dryRun && tag && !(await tagRelease(root, `v${version}`, `Release ${version}`)))
        context.printNotice(`git could not create the tag v${version}. Create it: git tag -a v${version}`);
      const manifestPath = dryRun ? null : path;
      context.printReply({ ...reply, changelog, path: manifestPath }, () =>
        releaseText(reply, changelog, manifestPath, context),
      );
    });
  },
});

/** Restricts a version to what is safe in a file name and a tag. The coordinator validates it fully. */
const VERSION = /^\d+\.\d+\.\d+[0-9A-Za-z.+-]{0,128}$/;

function coverageFigures({ total_req_keys, full_coverage }: GapsReply) {
  const coverage_pct = total_req_keys === 0 ? 100 : Math.round((full_coverage / total_req_keys) * 1000) / 10;
  return { coverage_pct, known_gaps: total_req_keys - full_coverage };
}

/** Fails before anything is written if the file exists already or there is no commit to tag. */
async function assertReleasable(root: string, path: string, isTagged: boolean): Promise<void> {
  const isExisting = (await stat(join(root, path)).catch(() => null)) !== null;
  if (isExisting)
    throw new CommandFailure(`${path} already exists and was not changed. Pass a higher version.`);
  if (isTagged && (await headCommit(root)) === null)
    throw new CommandFailure('There is no commit to tag. Commit first, or omit --tag.');
}

function showRefusal(context: CommandContext, reply: VersionReleaseReply): void {
  if (!context.is_json && reply.readiness.length > 0) context.print(readinessText(reply.readiness, context));
  reportRefusal(context, reply);
}
