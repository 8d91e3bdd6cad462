import { STATUS_MARKS } from '../../core/contract/values.js';
import type { Paint } from './paint.js';

type Colour = 'green' | 'cyan' | 'dim' | 'yellow' | 'red';

const MARKS: Readonly<Record<string, string>> = STATUS_MARKS;
const MARK_COLOURS: Readonly<Record<string, Colour>> = { '✓': 'green', '●': 'cyan', '○': 'dim', '✗': 'red' };
const STATUS_COLOURS: Readonly<Record<string, Colour>> = {
  converged: 'green',
  in_progress: 'cyan',
  iterating: 'cyan',
  pending: 'dim',
  pending_review: 'yellow',
  stuck: 'yellow',
  blocked: 'red',
  time_box_expired: 'yellow',
};

export const LEGEND = '✓ converged  ● in progress  ○ pending  ✗ blocked';

export const statusMark = (status: string, paint: Paint): string => paintMark(MARKS[status] ?? '○', paint);

export const paintMark = (sign: string, paint: Paint): string => paint[MARK_COLOURS[sign] ?? 'dim'](sign);

export const paintStatus = (status: string, paint: Paint): string =>
  paint[STATUS_COLOURS[status] ?? 'bold'](status);
