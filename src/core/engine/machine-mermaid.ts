import type { ChoiceRule, MachineState, StateMachine } from './asl.js';

/** A state machine as a Mermaid state diagram. The branches of a parallel state are nested in it. */
export function machineMermaid(machine: StateMachine): string {
  const lines = new DiagramWriter().machineLines(machine, '  ');
  return `${['stateDiagram-v2', ...lines].join('\n')}\n`;
}

class DiagramWriter {
  readonly #ids = new Map<string, string>();

  /** States first, since an arrow to an undeclared state would declare it without its name. */
  machineLines({ StartAt, States }: StateMachine, indent: string): string[] {
    const states = Object.entries(States);
    return [
      ...states.flatMap(([name, state]) => this.#stateLines(name, state, indent)),
      `${indent}[*] --> ${this.#id(StartAt)}`,
      ...states.flatMap(([name, state]) => this.#arrowLines(name, state, indent)),
    ];
  }

  /** The short id of a state, for arrows, because names may have any characters. No two states of a document share a name. */
  #id(name: string): string {
    const id = this.#ids.get(name) ?? `s${this.#ids.size + 1}`;
    this.#ids.set(name, id);
    return id;
  }

  #stateLines(name: string, state: MachineState, indent: string): string[] {
    const declaration = `${indent}state "${escapeText(name, NAME_SIGNS)}" as ${this.#id(name)}`;
    if (state.Type !== 'Parallel') return [declaration];
    const branches = state.Branches.map((branch) => this.machineLines(branch, `${indent}  `));
    const separated = branches.flatMap((lines, at) => (at === 0 ? lines : [`${indent}  --`, ...lines]));
    return [`${declaration} {`, ...separated, `${indent}}`];
  }

  #arrowLines(name: string, state: MachineState, indent: string): string[] {
    const arrow = (target: string, label = ''): string =>
      `${indent}${this.#id(name)} --> ${target}${label === '' ? '' : ` : ${escapeText(label, LABEL_SIGNS)}`}`;
    switch (state.Type) {
      case 'Succeed':
      case 'Fail':
        return [arrow('[*]')];
      case 'Choice': {
        const choices = state.Choices.map((rule) => arrow(this.#id(rule.Next), ruleText(rule)));
        return state.Default === undefined
          ? choices
          : [...choices, arrow(this.#id(state.Default), 'otherwise')];
      }
      default: {
        const catchers = 'Catch' in state ? (state.Catch ?? []) : [];
        const next = state.Next === undefined ? '[*]' : this.#id(state.Next);
        return [
          arrow(next),
          ...catchers.map((one) => arrow(this.#id(one.Next), errorsText(one.ErrorEquals))),
        ];
      }
    }
  }
}

const ERRORS_SHOWN_MAX = 1;
const RULES_SHOWN_MAX = 2;

function errorsText(names: readonly string[]): string {
  if (names.includes('States.ALL')) return 'other errors';
  const more = names.length - ERRORS_SHOWN_MAX;
  const shown = names.slice(0, ERRORS_SHOWN_MAX).join(', ');
  return more > 0 ? `${shown} and ${more} other errors` : shown;
}

function ruleText(rule: ChoiceRule): string {
  if ('And' in rule) return rule.And.map(ruleText).join(' and ');
  if ('Or' in rule) return orText(rule.Or);
  if ('Not' in rule) return `not (${ruleText(rule.Not)})`;
  if ('StringEquals' in rule) return `${rule.Variable} = ${rule.StringEquals}`;
  if ('BooleanEquals' in rule) return rule.BooleanEquals ? rule.Variable : `not ${rule.Variable}`;
  if ('NumericEquals' in rule) return `${rule.Variable} = ${rule.NumericEquals}`;
  if ('NumericGreaterThan' in rule) return `${rule.Variable} > ${rule.NumericGreaterThan}`;
  return `${rule.Variable} is ${rule.IsPresent ? 'present' : 'absent'}`;
}

function orText(rules: readonly ChoiceRule[]): string {
  const shown = rules.slice(0, RULES_SHOWN_MAX).map(ruleText).join(' or ');
  const more = rules.length - RULES_SHOWN_MAX;
  return more > 0 ? `${shown} or ${more} more` : shown;
}

/** Signs that are not escaped in a label, like letters, digits and spaces. A colon would end the label. */
const LABEL_SIGNS = "_.,()=?$'+/[]-";
const NAME_SIGNS = `${LABEL_SIGNS}:`;

/** Replaces all but letters, digits, spaces and `signs` by entities, which Mermaid shows as the characters. */
const escapeText = (text: string, signs: string): string =>
  text.replace(/[^\p{L}\p{M}\p{N} ]/gu, (character) =>
    signs.includes(character) ? character : `#${character.codePointAt(0)};`,
  );
