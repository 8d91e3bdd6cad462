import { CommandFailure } from '../exit.js';
import type { Part } from './part.js';

interface Marked {
  readonly path: string;
  readonly about: string;
  readonly begin: string;
  readonly end: string;
  readonly lines: readonly string[];
  /** What, outside of our part, would contradict it. */
  readonly rival?: RegExp;
}

/** A part between two marks, at the end of a text. */
export function markedPart({ path, about, begin, end, lines, rival }: Marked): Part {
  const block = `${[begin, ...lines, end].join('\n')}\n`;
  const take = (text: string): string => {
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
    take,
    isEmpty: (text) => text.trim() === '',
    put(text) {
      const others = take(text ?? '');
      if (others === '') return block;
      if (rival?.test(others)) {
        throw new CommandFailure(
          `${path} has its own ${rival.source.replaceAll('\\', '')}. Take that out first.`,
        );
      }
      return `${others}${others.endsWith('\n') ? '' : '\n'}\n${block}`;
    },
  };
}
