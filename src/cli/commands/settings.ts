import type { BodyOf } from '../../client/index.js';
import { DEFAULT_LIMITS, DEFAULT_POLICY } from '../../core/claims/policy.js';
import { LIMIT_MEANINGS, POLICY_MEANINGS } from '../../core/contract/settings.js';
import { combineCommands, defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { unwrapReply } from '../replies.js';
import { parseSettings } from '../settings/parse-settings.js';

/** A row per setting: its value, its default and its meaning. */
const settingsText = (
  settings: Readonly<Record<string, unknown>>,
  defaults: Readonly<Record<string, unknown>>,
  meanings: Readonly<Record<string, string>>,
  { table }: CommandContext,
): string =>
  table(Object.entries(meanings), [
    { title: 'Name', cell: ([name]) => name, is_fixed: true },
    { title: 'Value', cell: ([name]) => valueText(settings[name]), is_fixed: true },
    { title: 'Default', cell: ([name]) => valueText(defaults[name]), is_fixed: true },
    { title: 'Meaning', cell: ([, meaning]) => meaning, is_flexible: true },
  ]);

/** A value by kind or by track is shown as it can be set: `task=hold edge=hold`. */
function valueText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([part, each]) => `${part}=${each}`)
    .join(' ');
}

const limits = defineCommand('limits [name=value...]', {
  description: 'show the limits of this tenant, or set some of them',
  help: `
The defaults come from specification 004 §7.2; a server without keys starts with wider limits. Only an admin sets limits.

Examples:
  gen limits
  gen limits max_concurrent_claims=500 max_lease_duration_seconds=7200`,
  async run(context, assignments) {
    const change = parseSettings(assignments, Object.keys(LIMIT_MEANINGS), []);
    const genesis = await context.genesisForTenant();
    const reply =
      change === null
        ? await genesis.limits()
        : // The server validates it.
          await genesis.putLimits(change as BodyOf<'put_limits'>);
    context.printReply(unwrapReply(reply), (settings) =>
      settingsText(settings, DEFAULT_LIMITS, LIMIT_MEANINGS, context),
    );
  },
});

const policy = defineCommand('policy [name=value...]', {
  description: 'show the policy of the project, or set some of it',
  help: `
A value by track or by kind is set with a dot; null removes it. Only an admin sets the policy.

Examples:
  gen policy
  gen policy max_attempts=3 late_submit=reject
  gen policy max_agents_per_track.A=2 stale_policy.task=hold`,
  async run(context, assignments) {
    const change = parseSettings(assignments, Object.keys(POLICY_MEANINGS), [
      'stale_policy',
      'max_agents_per_track',
    ]);
    const genesis = await context.genesis();
    const reply =
      change === null
        ? await genesis.policy()
        : // The server validates it.
          await genesis.putPolicy(change as BodyOf<'put_policy'>);
    context.printReply(unwrapReply(reply), (settings) =>
      settingsText(settings, DEFAULT_POLICY, POLICY_MEANINGS, context),
    );
  },
});

export const settingsCommands = combineCommands(limits, policy);
