export const queueName = 'deliveries';

/** The name of the queue in Redis of one database. */
export const queueOf = (databaseId: string) => `${queueName}-${databaseId.slice(0, 8)}`;
