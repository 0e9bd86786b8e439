/** Equal messages: how many there are, and the id of one that has it. */
export interface MessageGroup {
  message: string;
  count: number;
  example: string;
}

const maxGroups = 20;

/** Counts a message in its group; a new one beyond the first 20 is left out. */
export function addMessage(groups: MessageGroup[], message: string, id: string): void {
  const group = groups.find((one) => one.message === message);
  if (group) group.count += 1;
  else if (groups.length < maxGroups) groups.push({ message, count: 1, example: id });
}
