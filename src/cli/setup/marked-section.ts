import { CommandFailure } from '../exit.js';
import type { ConfigSection } from './apply.js';

interface MarkedSectionOptions {
  readonly path: string;
  readonly about: string;
  readonly begin: string;
  readonly end: string;
  readonly lines: readonly string[];
  /** Matches content outside our part that would conflict with it. */
  readonly conflict?: RegExp;
}

/** A part between two marker lines at the end of a text file. */
export function markedSection(options: MarkedSectionOptions): ConfigSection {
  const { path, about, begin, end, lines, conflict } = options;
  const block = `${[begin, ...lines, end].join('\n')}\n`;
  const removeBlock = (text: string): string => {
    const from = text.indexOf(begin);
    const to = text.indexOf(end, from);
    if (from === -1 || to === -1) return text;
    const before = text.slice(0, from).replace(/\n\n$/, '\n');
    const after = text.slice(to + end.length).replace(/^\n/, '');
    return `${before}${after}`;
  };
  return {
    path,
    about,
    remove: removeBlock,
    has: (text) => removeBlock(text) !== text,
    isEmpty: (text) => text.trim() === '',
    insert(text) {
      const others = removeBlock(text ?? '');
      if (others === '') return block;
      if (conflict?.test(others)) {
        throw new CommandFailure(
          `${path} already has ${conflict.source.replaceAll('\\', '')}. Remove it, then try again.`,
        );
      }
      return `${others}${others.endsWith('\n') ? '' : '\n'}\n${block}`;
    },
  };
}
