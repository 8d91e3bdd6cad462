import type { SeedRunOptions } from './scenario/scenario.js';

/** The command that replays exactly this run. */
export function replayCommand(options: Omit<SeedRunOptions, 'onTrace'>): string {
  const parts = ['npm run sim --', `--seed ${options.seed}`, `--mode ${options.mode}`];
  if (options.without !== undefined && options.without.length > 0) {
    parts.push(`--without ${options.without.join(',')}`);
  }
  if (options.agents_max !== undefined) parts.push(`--agents ${options.agents_max}`);
  if (options.commands_max !== undefined) parts.push(`--commands ${options.commands_max}`);
  return parts.join(' ');
}
