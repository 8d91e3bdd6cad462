import { Link } from 'wouter';
import { linkedText } from '../model/linked-text.js';
import { TimeText } from './time-text.js';
import { visibleText } from './untrusted-text.js';

export const taskPath = (id: string): string => `/task/${encodeURIComponent(id)}`;

export const TaskLink = ({ id }: { id: string }) => (
  <Link className="mono" href={taskPath(id)}>
    {id}
  </Link>
);

/**
 * A text of the server, with a link for each task and edge that it names, and with its times in local time. The name of
 * `currentSubject`, which the page already shows, is no link.
 */
export const LinkedText = ({ text, currentSubject }: { text: string; currentSubject: string }) =>
  linkedText(text).map((part, index) => {
    // biome-ignore-start lint/suspicious/noArrayIndexKey: the parts of a text have no other key
    if ('time' in part) return <TimeText key={index} at={part.time} />;
    if ('subject' in part && part.subject !== currentSubject)
      return <TaskLink key={index} id={part.subject} />;
    // biome-ignore-end lint/suspicious/noArrayIndexKey: see above
    return visibleText('subject' in part ? part.subject : part.text);
  });
