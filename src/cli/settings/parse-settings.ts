import { didYouMean } from '../../core/closest-names.js';
import { wrongUsage } from '../exit.js';

/** A change of settings as the API accepts it. */
type SettingsChange = Record<string, unknown>;

/**
 * Reads `NAME=VALUE` and, for the settings that have parts, `NAME.PART=VALUE`. Null if nothing is given. An unknown
 * name is wrong usage; the server decides whether a value is allowed.
 */
export function parseSettings(
  assignments: readonly string[],
  names: readonly string[],
  namesWithParts: readonly string[],
): SettingsChange | null {
  const change: SettingsChange = {};
  for (const text of assignments) {
    const [, name = '', part, value = ''] = /^([^=.]*)(?:\.([^=]+))?=(.*)$/s.exec(text) ?? [];
    if (name === '') throw wrongUsage(`${text}: expected NAME=VALUE.`);
    if (!names.includes(name)) throw wrongUsage(unknownNameText(name, names));
    if (part === undefined) {
      change[name] = parseValue(value);
      continue;
    }
    if (!namesWithParts.includes(name)) throw wrongUsage(`${name} has no parts. Pass ${name}=VALUE.`);
    const parts = change[name];
    change[name] = { ...(typeof parts === 'object' ? parts : {}), [part]: parseValue(value) };
  }
  return assignments.length === 0 ? null : change;
}

function unknownNameText(name: string, names: readonly string[]): string {
  const advice = didYouMean(name, names) || ` The names are ${names.join(', ')}.`;
  return `${name} is not a setting.${advice}`;
}

const parseValue = (text: string): unknown =>
  /^(-?(0|[1-9]\d{0,15})|true|false|null)$/.test(text) ? JSON.parse(text) : text;
