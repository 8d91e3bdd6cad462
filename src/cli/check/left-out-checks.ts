import { edgePlan, nonConvergingPlanFault } from '../../core/engine/edge-plan.js';
import {
  omittedHumanChecksOfEdge,
  omittedHumanChecksOfProfile,
} from '../../core/methodology/definition/dropped-human-checks.js';
import { profileOf } from '../../core/methodology/definition/profile.js';
import { parseMethodology } from '../../core/methodology/definition/read-methodology.js';
import { readWorkspaceFiles } from '../../workspace/read-files.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { readConfiguration } from '../engine/workspace-services.js';

/** Warns about human checks of the edge that the feature's profile leaves out, and about a checklist that nothing can pass. */
export async function warnAboutChecklist(
  context: CommandContext,
  { feature_id, edge }: { readonly feature_id: string; readonly edge: string },
): Promise<void> {
  const workspace = context.requireWorkspace();
  const genesis = await context.genesis();
  // No warning about a faulty configuration: the commands that load it report its faults.
  const configuration = await readConfiguration(workspace, genesis, feature_id).catch(() => null);
  if (configuration === null) return;
  const { methodology, feature } = configuration;
  const profile = profileOf(methodology, feature);
  const isKnown = methodology.topology.transitions.some((transition) => transition.edge === edge);
  const messages = [
    omittedHumanChecksOfEdge(methodology, profile, edge),
    isKnown ? nonConvergingPlanFault(edgePlan(methodology, feature, edge), profile.name) : null,
  ];
  for (const message of messages) if (message !== null) context.warn(message);
}

/** Warns about human checks that a profile leaves out, for the project's default profile and the profiles of its features. */
export async function warnAboutProfiles({ warn }: CommandContext, workspace: Workspace): Promise<void> {
  const { files, unreadable } = await readWorkspaceFiles(workspace);
  const parsed = parseMethodology(files, unreadable);
  if (!parsed.ok) return;
  const { methodology, features } = parsed;
  const used = [{ profile: methodology.default_profile }, ...features].map((each) =>
    profileOf(methodology, each),
  );
  for (const profile of new Set(used)) {
    const message = omittedHumanChecksOfProfile(methodology, profile);
    if (message !== null) warn(message);
  }
}
